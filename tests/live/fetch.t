#!/bin/bash
# fetch.t - finished jobs from a real slurmrestd, and what a real Prometheus has of them
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The rows of slurmrestd must be those of slurmdbd. The exporter is a stand-in that serves
# the names of NVIDIA's DCGM exporter; servers that fail are stand-ins, too.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin fetch
for tool in slurmrestd prometheus promtool python3 openssl; do
    if ! command -v "$tool" >/dev/null; then skip_all "$tool is not installed"; fi
done
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

# --- helpers -----------------------------------------------------------------------------

conf() {
    write_slurmdbd_conf "$@"
    printf '%s\n' AuthAltTypes=auth/jwt "AuthAltParameters=jwt_key=$dir/etc/jwt.key" \
        >>"$CLUSTER_DIR/etc/slurmdbd.conf"
}

conf() {
    live_conf "StateDir=$dir/state" "$@"
    chmod -R go-w "$dir/etc"
}
# collect NAME [OPTION]...: into the store NAME.db; its output and errors in NAME.out,
# and printed if it fails
collect() {
    local name=$1
    shift
    timeout 180 "$dnnestd" collect --once --conf="$dir/etc/dnnest.conf" \
        --db="$dir/state/$name.db" "$@" >"$dir/$name.out" 2>&1 || {
        local status=$?
        cat "$dir/$name.out"
        return "$status"
    }
}
# rows NAME COLUMNS
rows() {
    python3 - "$dir/state/$1.db" "$2" <<'END'
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(
        "SELECT " + sys.argv[2] + " FROM jobs ORDER BY raw_id, start_s"):
    print("|".join("" if v is None else "%.6g" % v if isinstance(v, float) else str(v)
                   for v in row))
END
}
# slurmrestd of 22.05 gives the exit status 0 for every job, which dnnest does not take for
# that of a job that failed.
readonly SAME='cluster,raw_id,submit_s,start_s,job,user,user_name,account,partition,qos,name,
    eligible_s,end_s,suspended_s,state,outcome,
    CASE state WHEN "FAILED" THEN 0 ELSE exit_code END,
    nodes,host,cpus,gpu,gpus,limit_s,cpu_s,host_mem_gb'
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
over() {
    [[ -z $(squeue -h -o %i) ]]
}
recorded() {
    [[ $(sacct -n -X -P --allusers -S now-1hour -o End | grep -c '^20') = "$1" ]]
}

# server PORT ANSWER [CERTIFICATE]: 401, 500, short, huge
write_server() {
    cat >"$dir/server.py" <<'END'
import http.server, ssl, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        what = open(sys.argv[2]).read().strip()
        with open(sys.argv[2] + ".token", "w") as seen:
            seen.write(self.headers.get("X-SLURM-USER-TOKEN", ""))
        self.send_response(int(what) if what.isdigit() else 200)
        self.end_headers()
        try:
            if "openapi" in self.path and not what.isdigit():
                self.wfile.write(b'{"paths":{"/slurmdb/v0.0.38/jobs":{}}}')
            elif what == "short":
                self.wfile.write(b'{"jobs": [{"job_id": 1, "time": {"end"')
            elif what == "huge":
                for _ in range(100):
                    self.wfile.write(b" " * (1 << 20))
        except OSError:
            pass
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
END
}
# The figures of the GPUs, from a file that the test writes.
write_exporter() {
    cat >"$dir/exporter.py" <<'END'
import http.server, sys

class Figures(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(open(sys.argv[2], "rb").read())
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Figures).serve_forever()
END
}
# figures JOB: two busy GPUs and one that is idle
figures() {
    local gpu util=(40 80 0) fb=(2048 4096 300) power=(100 200 30)
    for gpu in 0 1 2; do
        printf '%s{gpu="%s",hpc_job="%s"} %s\n' \
            DCGM_FI_DEV_GPU_UTIL $gpu "$1" "${util[gpu]}" \
            DCGM_FI_DEV_FB_USED $gpu "$1" "${fb[gpu]}" \
            DCGM_FI_DEV_POWER_USAGE $gpu "$1" "${power[gpu]}"
    done
}

# --- the cluster, slurmrestd and Prometheus -----------------------------------------------

mkdir -p "$dir"/{etc,state,tsdb}
chmod 755 "$dir/state"
live_hardware
conf
live_start
chmod 755 "$dir"
write_server
write_exporter
odd=$(free_port) tls=$(free_port) figures=$(free_port) prom=$(free_port)
: >"$dir/figures"
_cluster_spawn exporter python3 "$dir/exporter.py" "$figures" "$dir/figures"
printf '%s\n' 'global: {scrape_interval: 1s}' "rule_files: ['$share/grafana/alerts.yml']" \
    'scrape_configs:' '- job_name: gpus' \
    "  static_configs: [{targets: ['127.0.0.1:$figures']}]" >"$dir/etc/prometheus.yml"
_cluster_spawn prometheus prometheus --config.file="$dir/etc/prometheus.yml" \
    --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:$prom"
cluster_as_user slurmrestd -a rest_auth/local "unix:$dir/home/rest.sock" \
    </dev/null >"$dir/log/slurmrestd.out" 2>&1 &
echo 401 >"$dir/answer"
_cluster_spawn odd python3 "$dir/server.py" "$odd" "$dir/answer"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/etc/key.pem" -out "$dir/etc/cert.pem" \
    -days 2 -subj /CN=localhost >"$dir/openssl.out" 2>&1
cat "$dir/etc/key.pem" >>"$dir/etc/cert.pem"
_cluster_spawn tls python3 "$dir/server.py" "$tls" "$dir/answer" "$dir/etc/cert.pem"

# --- jobs -----------------------------------------------------------------------------------

# What Prometheus answers to a path of its interface.
asked() {
    python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1]).read().decode())' "http://127.0.0.1:$prom/api/v1/$1" 2>&1
}
scraped() {
    asked 'query?query=up' | grep -q '"1"'
}
ok 'Prometheus has asked the exporter' cluster_until 180 scraped
printf '#!/bin/sh\nsleep 6\n' >"$dir/home/gpu.sh"
printf '#!/bin/sh\nexit 3\n' >"$dir/home/bad.sh"
printf '#!/bin/sh\nexit 0\n' >"$dir/home/good.sh"
job=$(cluster_as_user sbatch --parsable -o /dev/null --gres=gpu:v100:3 -t 5 gpu.sh)
figures "$job" >"$dir/figures"
cluster_as_user sbatch --parsable -o /dev/null bad.sh >/dev/null
cluster_as_user sbatch --parsable -o /dev/null --array=1-3 -J 'a "name"' good.sh >/dev/null
cluster_until 180 over
echo >"$dir/figures"
ok 'slurmdbd knows the ends of the jobs' cluster_until 180 recorded 5
sleep 1

# --- slurmrestd -----------------------------------------------------------------------------

echo eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJyb290In0.c2VjcmV0 >"$dir/state/slurmrestd.token"
chmod 600 "$dir/state/slurmrestd.token"
conf Accounting=slurmdbd
ok 'jobs are collected from slurmdbd' collect dbd --since="$(($(date +%s) - 600))"
conf "Accounting=unix:$dir/home/rest.sock"
ok 'jobs are collected from slurmrestd' collect rest \
    --since="$(($(date +%s) - 600))"
is 'slurmrestd gives as many jobs as slurmdbd' \
    "$(rows rest raw_id | wc -l)" 5
is 'the rows of slurmrestd are those of slurmdbd' "$(rows rest "$SAME")" "$(rows dbd "$SAME")"
is 'ids, states and ends are those of sacct' "$(rows rest job,state | sort)" \
    "$(sacct -n -X -P --allusers -S now-1hour -o JobID,State | sort)"

# fails TITLE REGEX
fails() {
    local rc=0
    collect failing --since="$(($(date +%s) - 600))" >/dev/null || rc=$?
    is "$1: the exit status says so" "$((rc != 0))" 1
    like "$1: one clear error" "$(<"$dir/failing.out")" "$2"
    is "$1: the token is not shown" "$(grep -cF "$(<"$dir/state/slurmrestd.token")" "$dir/failing.out")" 0
}
for answer in 401 500 short huge; do
    echo "$answer" >"$dir/answer"
    conf "Accounting=http://127.0.0.1:$odd"
    case $answer in
        401) fails 'a token that is refused' "127.0.0.1:$odd.*HTTP status 401.*token" ;;
        500) fails 'a server that fails' "127.0.0.1:$odd.*HTTP status 500, expected 200" ;;
        short) fails 'JSON that is cut' "slurmrestd: expected an object with the array 'jobs'" ;;
        huge) fails 'an answer that is too large' 'an answer of more than [0-9]+ bytes' ;;
    esac
done
is 'the server is sent the token' "$(<"$dir/answer.token")" "$(<"$dir/state/slurmrestd.token")"
conf "Accounting=http://127.0.0.1:1"
fails 'a server that is down' 'http://127.0.0.1:1/openapi/v3: .*[Cc]onnect'
conf "Accounting=https://localhost:$tls"
fails 'a certificate that no authority has signed' "https://localhost:$tls.*certificate"
chmod 644 "$dir/state/slurmrestd.token"
fails 'a token that others can read' 'others can read the token'
rm "$dir/state/slurmrestd.token"
conf "Accounting=unix:$dir/home/rest.sock"
ok 'a later pass succeeds' collect failing --since="$(($(date +%s) - 600))"
is 'after failures all jobs are there' "$(rows failing raw_id | wc -l)" 5

# --- Prometheus -------------------------------------------------------------------------------

ended_long_ago() {
    (($(date +%s) - $(rows rest "max(end_s)") > 33))
}
cluster_until 180 ended_long_ago
conf Accounting=slurmdbd "Prometheus=http://127.0.0.1:1"
ok 'a Prometheus that is down loses no job' \
    bash -c "! '$dnnestd' collect --once --conf='$dir/etc/dnnest.conf' --db='$dir/state/rest.db'"
conf Accounting=slurmdbd "Prometheus=http://127.0.0.1:$prom"
# Another run as the first one, but longer: what a short one left idle is no evidence.
python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE jobs SET start_s = end_s - 700 WHERE gpus = 3")' "$dir/state/rest.db"
ok 'what Prometheus has is collected' collect rest
is 'utilisation, memory and power of the job are those that were exported' \
    "$(rows rest "gpu_utilisation,gpu_mem_gb,power_w" | sort -u | grep -v '^||$')" '0.4|4|110'
is 'the energy is that of all GPUs over the run' \
    "$(rows rest "energy_j = 330.0 * (end_s - start_s), gpus" | grep '|3$' | sort -u)" '1|3'
is 'of a long run the GPU that was idle all the time is not used' \
    "$(rows rest "gpus, gpus_used" | grep '^3')" $'3|2\n3|'
like 'Prometheus has loaded the alert rules' "$(asked rules)" '"name":"dnnest"'

done_testing
