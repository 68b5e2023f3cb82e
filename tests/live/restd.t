#!/bin/bash
# restd.t - a job submitted by slurmrestd is right-sized like one submitted by sbatch
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In every version of its interface that this slurmrestd supports: the fields for GPUs and
# time are not the same in all of them. The expected job is not written here: the same
# submission by sbatch shows it.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin restd job_submit_dnnest
for tool in slurmrestd python3 jq; do
    if ! command -v "$tool" >/dev/null; then skip_all "$tool is not installed"; fi
done
home=$dir/home

readonly SPEC=dnnest:$LIVE_KEYS
# The first version with TRES and with numbers that may be unset.
readonly TRES_SINCE=39

# --- helpers -------------------------------------------------------------------------

write_conf() {
    live_hardware
    live_conf Mode=enforce "$LIVE_MOVES"
}

# request METHOD PATH [FILE]: the answer's body, then its status on a separate line. As the
# user, whom slurmrestd knows by the socket.
write_client() {
    cat >"$home/request.py" <<'END'
import http.client, socket, sys

class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect("rest.sock")

method, path, *body = sys.argv[1:]
link = Local("localhost")
link.request(method, path, open(body[0], "rb").read() if body else None,
             {"Content-Type": "application/json", "Accept": "application/json"})
answer = link.getresponse()
sys.stdout.write(answer.read().decode() + "\n" + str(answer.status) + "\n")
END
}
request() {
    cluster_as_user python3 request.py "$@"
}
answers() {
    [[ $(request GET /openapi/v3 | tail -1) = 200 ]]
}

# body NUMBER COMMENT HOLD: a job in the format of v0.0.NUMBER
body() {
    # shellcheck disable=SC2016  # the variables are jq's
    local job='{name: "rest", partition: "gpu", comment: $comment, hold: $hold, tasks: 1,
        cpus_per_task: 80, current_working_directory: $home, standard_output: $out}'
    # shellcheck disable=SC2016
    if (($1 >= TRES_SINCE)); then
        job+=' + {tres_per_node: "gres/gpu:a100:4",
            time_limit: {set: true, number: 1440},
            memory_per_node: {set: true, number: 300000},
            environment: ["PATH=/usr/bin:/bin", "SLURM_CONF=" + $conf]}'
    else
        job+=' + {gres: "gpu:a100:4", time_limit: 1440, memory_per_node: 300000,
            environment: {PATH: "/usr/bin:/bin", SLURM_CONF: $conf}}'
    fi
    jq -n --arg comment "$2" --argjson hold "$3" --arg home "$home" --arg out "$home/out-$1" \
        --arg conf "$SLURM_CONF" --rawfile script "$home/job.sh" \
        "{job: ($job), script: \$script}"
}

# Sets 'job', 'status', 'said' (of the plugin) and 'complaints'.
post() {
    local answer
    body "$@" >"$home/body.json"
    answer=$(request POST "/slurm/v0.0.$1/job/submit" body.json)
    status=${answer##*$'\n'}
    answer=${answer%$'\n'*}
    job=$(jq -r '.job_id // 0 | if type == "object" then .number else . end' <<<"$answer")
    said=$(jq -r '.job_submit_user_msg // ""' <<<"$answer")
    complaints=$(jq -c '[(.errors // [])[], (.warnings // [])[]]' <<<"$answer")
}

sbatch_held() {
    job=$(cluster_as_user sbatch --parsable -H -J rest --gres=gpu:a100:4 -n 1 -c 80 -t 1-0 \
        --mem=300000 --comment="$1" job.sh 2>"$dir/said")
    said=$(<"$dir/said")
}

# --- the cluster ---------------------------------------------------------------------

write_conf
live_start --plugin-dir "$plugin_dir"
live_see for-all
cat >"$home/job.sh" <<'END'
#!/bin/sh
srun sh -c 'echo "step on $SLURMD_NODENAME"'
END
write_client
cluster_as_user slurmrestd -a rest_auth/local "unix:$home/rest.sock" \
    </dev/null >"$dir/log/slurmrestd.out" 2>&1 &
if ! cluster_until 180 answers; then
    fail 'slurmrestd answers'
    diag "$(tail -n 15 "$dir/log/slurmrestd.out")"
    done_testing
    exit 1
fi
pass 'slurmrestd answers'

sbatch_held "$SPEC"
want=$(request_of "$job") line=${said#sbatch: }
like 'sbatch has its job moved' "$line" '^dnnest: time 1-00:00:00 -> .*gpu a100:4 -> v100:4'
sbatch_held 'nothing for dnnest'
plain=$(request_of "$job")

mapfile -t numbers < <(request GET /openapi/v3 | head -n -1 |
    jq -r '.paths | keys[]' | sed -n 's|^/slurm/v0\.0\.\([0-9]*\)/job/submit/*$|\1|p' | sort -nu)
like 'slurmrestd has versions of its interface' "${numbers[*]}" '^[0-9]+( [0-9]+)*$'
diag "$(slurmrestd -V): v0.0.${numbers[*]}"

# --- every version of the interface --------------------------------------------------

for number in "${numbers[@]}"; do
    post "$number" 'nothing for dnnest' true
    is "v0.0.$number: a job that says nothing is what sbatch makes of it" \
        "$status $(request_of "$job")" "200 $plain"
    is "v0.0.$number: a job that says nothing gets no message" "$said" ''
    quiet=$complaints
    post "$number" "$SPEC" true
    is "v0.0.$number: a job that describes itself becomes what sbatch makes of it" \
        "$status $(request_of "$job")" "200 $want"
    is "v0.0.$number: a job that describes itself gets the message of sbatch" "$said" "$line"
    is "v0.0.$number: a job that describes itself gets no other warning or error" \
        "$complaints" "$quiet"
    like "v0.0.$number: the record is kept" "$(cluster_job_field "$job" AdminComment)" \
        '^\{"dnnest":1,.*"verdict":"change"'
    post "$number" "${SPEC/steps=20000/steps=many}" true
    is "v0.0.$number: a job with wrong metadata is not changed" \
        "$status $(request_of "$job")" "200 $plain"
    like "v0.0.$number: a job with wrong metadata gets the reason" \
        "$said" '^dnnest: .*steps.*; job submitted as written$'
    post "$number" "$SPEC" false
    ok "v0.0.$number: a job that was moved runs" cluster_wait_job "$job" COMPLETED 120
    output=$(cat "$home/out-$number" 2>&1) || true
    like "v0.0.$number: a job that was moved runs on a v100 node, with its srun" \
        "$output" '^step on v[12]$'
done

live_end
