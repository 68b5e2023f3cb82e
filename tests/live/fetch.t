#!/bin/bash
# fetch.t - what a real Prometheus has of finished jobs
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The exporter is a stand-in that serves the names of NVIDIA's DCGM exporter; servers that
# fail are stand-ins, too.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin fetch
for tool in prometheus promtool python3 openssl; do
    if ! command -v "$tool" >/dev/null; then skip_all "$tool is not installed"; fi
done
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

# --- helpers -----------------------------------------------------------------------------

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
        self.send_response(int(what) if what.isdigit() else 200)
        self.end_headers()
        try:
            if what == "short":
                self.wfile.write(b'{"status":"success","data":{"result')
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

# --- the cluster and Prometheus ----------------------------------------------------------

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

# --- Prometheus -------------------------------------------------------------------------------

conf
ok 'jobs are collected' collect dbd --since="$(($(date +%s) - 600))"
ended_long_ago() {
    (($(date +%s) - $(rows dbd "max(end_s)") > 33))
}
cluster_until 180 ended_long_ago
# fails TITLE URL REGEX
fails() {
    local rc=0
    conf "Prometheus=$2"
    collect dbd >/dev/null || rc=$?
    is "$1: the exit status says so" "$((rc != 0))" 1
    like "$1: one clear error" "$(<"$dir/dbd.out")" "$3"
}
for answer in 302 401 500 short huge; do
    echo "$answer" >"$dir/answer"
    case $answer in
        302) fails 'a redirect' "http://127.0.0.1:$odd" 'HTTP status 302.*redirects' ;;
        401 | 500) fails 'a server that fails' "http://127.0.0.1:$odd" \
            "127.0.0.1:$odd.*HTTP status $answer, expected 200" ;;
        short) fails 'JSON that is cut' "http://127.0.0.1:$odd" 'collect: job [0-9]+' ;;
        huge) fails 'an answer that is too large' "http://127.0.0.1:$odd" \
            'an answer of more than [0-9]+ bytes' ;;
    esac
done
fails 'a server that is down' http://127.0.0.1:1 'http://127.0.0.1:1/.*[Cc]onnect'
fails 'a certificate that no authority has signed' "https://localhost:$tls" \
    "https://localhost:$tls.*certificate"
is 'a Prometheus that fails loses no job' "$(rows dbd raw_id | wc -l)" 5
conf Accounting=http://127.0.0.1:6820
not_ok 'slurmrestd is not read any more' collect rest
conf "Prometheus=http://127.0.0.1:$prom"
# Another run as the first one, but longer: what a short one left idle is no evidence.
python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("UPDATE jobs SET start_s = end_s - 700 WHERE gpus = 3")' "$dir/state/dbd.db"
ok 'what Prometheus has is collected' collect dbd
is 'utilisation, memory and power of the job are those that were exported' \
    "$(rows dbd "gpu_utilisation,gpu_mem_gb,power_w" | sort -u | grep -v '^||$')" '0.4|4|110'
is 'the energy is that of all GPUs over the run' \
    "$(rows dbd "energy_j = 330.0 * (end_s - start_s), gpus" | grep '|3$' | sort -u)" '1|3'
is 'of a long run the GPU that was idle all the time is not used' \
    "$(rows dbd "gpus, gpus_used" | grep '^3')" $'3|2\n3|'
like 'Prometheus has loaded the alert rules' "$(asked rules)" '"name":"dnnest"'

done_testing
