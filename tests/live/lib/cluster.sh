# shellcheck shell=bash
# cluster.sh - a complete private Slurm in one directory, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# munged, MariaDB, slurmdbd, slurmctld and four slurmd on this host, as root, without
# systemd and without cgroups. Nodes v1 v2 have four simulated v100 each, a1 a2 four a100,
# every node 96 CPUs and 512000 MB; partition gpu, account research. Every port, socket, key
# and file belongs to the cluster only, so that several clusters, and a Slurm of the system,
# can run side by side.
#
#   cluster_start DIR [--plugin-dir PATH] [--no-accounting] [--no-nodes]
#       [--conf 'Key=value ...']...
#       DIR is created if absent. Files that the caller has put in DIR/etc before (dnnest.conf,
#       plugstack.conf) are used. --plugin-dir loads job_submit/dnnest from a copy of PATH/*.so.
#       --no-nodes starts no slurmd: jobs can be submitted, but not run.
#       --conf adds a line to slurm.conf, in place of the lines of the same key, if any.
#   cluster_stop                        ends all processes and jobs; may be called again
#   cluster_trap [COMMAND]              cluster_stop, then COMMAND, on EXIT INT TERM HUP
#   cluster_reconfigure                 scontrol reconfigure, until the controller answers
#   cluster_restart_ctld                ends the controller and starts it again
#   cluster_as_user COMMAND...          as an ordinary user, in DIR/home
#   cluster_wait_job ID STATE SECONDS   STATE is an extended regex such as 'RUNNING|COMPLETED'
#   cluster_job_field ID FIELD          one field of 'scontrol show job -o'
#   cluster_until SECONDS COMMAND...    polls COMMAND until it succeeds; accounting, for
#                                       one, lags some seconds behind
#   cluster_log [LINES]                 the end of every log
#   cluster_missing                     prints why no cluster can run here; fails if one can
#   cluster_pids [COMMAND-NAME]         processes that belong to the cluster
#
# After cluster_start, and only in the sourcing shell: CLUSTER_DIR, CLUSTER_USER and an
# exported SLURM_CONF, so that root's own sbatch and scontrol reach the cluster as well.
# Functions return non-zero and say why on stderr; none of them exits.

# Jobs need a user that is not root, whose name every daemon can look up. 'daemon' is on
# every system, so nothing is added to /etc/passwd that a killed test would leave there.
# (So is 'nobody', but Slurm 26.05 uses it for an unknown user.) Several clusters can
# share it: processes are distinguished by their environment and their directory, never by
# their user alone.
CLUSTER_USER=daemon

# The command that starts the controller, such as (prlimit --nofile=100); the caller may set
# it.
CLUSTER_CTLD_VIA=()

# Sockets, cores and threads of a node, 96 CPUs; the caller may set it.
CLUSTER_CPUS='SocketsPerBoard=2 CoresPerSocket=48 ThreadsPerCore=1'

# GPUs of a node, and the gres types of v1 v2 and of a1 a2; the caller may set them.
CLUSTER_GPUS=4
CLUSTER_TYPES=(v100 a100)

CLUSTER_DIR=
CLUSTER_PORTS=()
CLUSTER_RESERVED=
CLUSTER_SPAWNED=
# Lines of the controller's log before its last start.
CLUSTER_CTLD_FROM=0

readonly CLUSTER_NODES=(v1 v2 a1 a2)
# A start takes 3 s, an end less than one; these are for a machine with much else to do.
readonly CLUSTER_START_S=180
readonly CLUSTER_END_S=60 # then it is killed

# --- helpers -------------------------------------------------------------------------

_cluster_say() {
    printf 'cluster: %s\n' "$*" >&2
}

# Slurm's version as one number that compares: 22.05 is 2205.
_cluster_version() {
    local major minor
    [[ $(slurmctld -V) =~ ([0-9]+)\.([0-9]+) ]] || return 1
    major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
    echo $((10#$major * 100 + 10#$minor))
}

_cluster_plugin_dir() {
    local dir prefix
    prefix=$(command -v slurmctld)
    prefix=${prefix%/sbin/*}
    for dir in "$prefix"/lib{,64}/slurm /usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib{,64}/slurm; do
        if [[ -e $dir/select_cons_tres.so ]]; then
            echo "$dir"
            return
        fi
    done
    _cluster_say "Slurm's own plugins not found"
    return 1
}

_cluster_port_busy() {
    local hex
    printf -v hex '%04X' "$1"
    # State 0A is LISTEN. Reading the table needs no tool and disturbs no daemon.
    grep -Eqs "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6
}

# Seven ports in a row, below the range from which the kernel takes ports for outgoing
# connections. The block is drawn at random and reserved by a lock on a file of /run, which
# this shell keeps until it ends: clusters that start in the same second get different ones.
# Blocks share 97 files; a block whose file is locked is not used. The end of the cluster
# removes the file, so one that was opened before counts only if it is still that of its name.
_cluster_pick_ports() {
    local base port file _
    _cluster_free_ports
    for _ in {1..50}; do
        base=$((20000 + SRANDOM % 1500 * 8))
        CLUSTER_PORTS=()
        for port in {0..6}; do
            if _cluster_port_busy $((base + port)); then continue 2; fi
            CLUSTER_PORTS+=($((base + port)))
        done
        file=/run/dnnest-cluster-$((base % 97))
        exec {CLUSTER_RESERVED}>>"$file" || return 1
        if flock -n "$CLUSTER_RESERVED" && _cluster_has_reserved "$file"; then return; fi
        exec {CLUSTER_RESERVED}>&-
    done
    CLUSTER_RESERVED=
    _cluster_say 'no free ports between 20000 and 32000'
    return 1
}

_cluster_has_reserved() {
    [[ $1 -ef /proc/$BASHPID/fd/$CLUSTER_RESERVED ]]
}
_cluster_free_ports() {
    local file=/run/dnnest-cluster-$((${CLUSTER_PORTS[0]-0} % 97))
    if [[ -z $CLUSTER_RESERVED ]]; then return 0; fi
    if _cluster_has_reserved "$file"; then rm -f "$file"; fi
    exec {CLUSTER_RESERVED}>&-
    CLUSTER_RESERVED=
}

# setsid keeps a Ctrl-C in the terminal away from the daemons, so that the clean-up can end
# them in order. Descriptors above 2 are closed, or a daemon that got away would keep the
# pipe of 'test | tee' open. SLURM_CONF in the environment marks the cluster's processes.
# With --wait, $! lives as long as the daemon even where setsid has to fork.
# usage: _cluster_spawn NAME-OF-LOG COMMAND...
_cluster_spawn() {
    local log=$CLUSTER_DIR/log/$1.out fd
    shift
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            if ((fd > 2)); then exec {fd}>&-; fi
        done
        exec setsid --wait env SLURM_CONF="$CLUSTER_DIR/etc/slurm.conf" "$@"
    ) </dev/null >>"$log" 2>&1 &
    CLUSTER_SPAWNED=$!
    disown
}

# Polls COMMAND until the daemon spawned last is ready; does not wait for one that has
# already ended.
_cluster_ready() {
    cluster_until "$CLUSTER_START_S" _cluster_ready_or_gone "$@" && "$@" >/dev/null 2>&1
}

_cluster_ready_or_gone() {
    ! kill -0 "$CLUSTER_SPAWNED" || "$@"
}

# --- processes -----------------------------------------------------------------------

# A zombie has no environment and no files any more, so one that a container's pid 1
# does not reap is rightly not counted.
cluster_pids() {
    local pid comm

    # Without SLURM_CONF, or these tools would find each other.
    _cluster_candidates "$CLUSTER_DIR" | env -u SLURM_CONF sort -nu | while read -r pid; do
        if ((pid == $$)); then continue; fi
        read -r comm 2>/dev/null <"/proc/$pid/comm" || continue
        # A slurmctld that has restarted itself has the name of Debian's file.
        if [[ -z ${1-} || ${comm%-wlm} = "$1" ]]; then echo "$pid"; fi
    done
}

_cluster_candidates() (
    # Processes start and end meanwhile: a file that cannot be read is no failure.
    set +e +o pipefail
    unset SLURM_CONF
    # Daemons, their children and the jobs get it from here or from sbatch.
    grep -lszxF "SLURM_CONF=$1/etc/slurm.conf" /proc/[0-9]*/environ | cut -d / -f 3
    # slurmstepd (24.11) and some process of a job may have wiped their environment, but
    # they still run or write in our directory. Only these: a person may have a shell there.
    {
        find /proc -maxdepth 1 -name '[0-9]*' -user "$CLUSTER_USER" 2>/dev/null
        grep -lsE '^slurmstepd' /proc/[0-9]*/comm
    } | while IFS=/ read -r _ _ pid _; do
        case $(readlink "/proc/$pid/cwd" "/proc/$pid/fd/"* 2>/dev/null) in
            *"$1"/*) echo "$pid" ;;
        esac
    done
    true
)

_cluster_none() {
    [[ -z $(cluster_pids "$1") ]]
}

# Ends the daemons of that name and waits; a daemon that does not end is killed.
_cluster_end() {
    local name=$1 pids
    pids=$(cluster_pids "$name")
    if [[ -z $pids ]]; then return 0; fi
    # shellcheck disable=SC2086  # one word per process
    kill -TERM $pids 2>/dev/null || true
    if cluster_until "$CLUSTER_END_S" _cluster_none "$name"; then return 0; fi
    _cluster_say "$name does not end within $CLUSTER_END_S s, killing it"
    # shellcheck disable=SC2046
    kill -KILL $(cluster_pids "$name") 2>/dev/null || true
}

# Kills all remaining processes. One pass is not enough: a process may be between fork and
# exec, where it does not yet have our mark.
_cluster_sweep() {
    local pids quiet=0 end=$((SECONDS + CLUSTER_END_S))
    while ((quiet < 2)); do
        pids=$(cluster_pids)
        if [[ -z $pids ]]; then
            quiet=$((quiet + 1))
        else
            quiet=0
            # shellcheck disable=SC2086
            kill -KILL $pids 2>/dev/null || true
            if ((SECONDS > end)); then
                _cluster_say "cannot end processes ${pids//$'\n'/ }"
                return 1
            fi
        fi
        sleep 0.05
    done
}

# --- files ---------------------------------------------------------------------------

_cluster_make_dirs() {
    local node i
    mkdir -p "$CLUSTER_DIR"/{etc,log,run,state,dev,db,home,plugins} || return 1
    for node in "${CLUSTER_NODES[@]}"; do mkdir -p "$CLUSTER_DIR/spool/$node"; done
    for ((i = 0; i < CLUSTER_GPUS; i++)); do touch "$CLUSTER_DIR/dev/gpu$i"; done
    [[ -e $CLUSTER_DIR/etc/plugstack.conf ]] || : >"$CLUSTER_DIR/etc/plugstack.conf"
    chmod 755 "$CLUSTER_DIR" "$CLUSTER_DIR"/{etc,log,run,dev,home,plugins}
    chmod 700 "$CLUSTER_DIR/db" "$CLUSTER_DIR/state"
    chown "$CLUSTER_USER" "$CLUSTER_DIR/home"
    if ! cluster_as_user true 2>/dev/null; then
        _cluster_say "user $CLUSTER_USER cannot enter $CLUSTER_DIR/home: choose a place" \
            "that everybody may reach, such as below /tmp"
        return 1
    fi
}

# A copy, because jobs' users must read the directory and a checkout may lie in /root,
# and because a new build written over a loaded object would crash the controller.
_cluster_copy_plugins() {
    local from=$1
    if [[ ! -e $from/job_submit_dnnest.so ]]; then
        _cluster_say "no job_submit_dnnest.so in $from"
        return 1
    fi
    cp -L "$from"/*.so "$CLUSTER_DIR/plugins/" && chmod 644 "$CLUSTER_DIR"/plugins/*.so
}

_cluster_slurm_conf() {
    local with_plugin=$1 accounting=$2 system_plugins host
    system_plugins=$(_cluster_plugin_dir) || return 1
    # The nodes have this host's own name, because srun sends that as its address: for the
    # name of a node the controller uses NodeAddr, any other name it looks up. Where that
    # fails, as in a bare chroot, Debian's Slurm tries for 10 s, with all jobs locked.
    # slurmstepd waits no longer than that: jobs stay COMPLETING.
    host=$(uname -n)
    host=${host%%.*}

    cat <<END
ClusterName=private
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=${CLUSTER_PORTS[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$CLUSTER_DIR/run/munge.sock
CredType=cred/munge
StateSaveLocation=$CLUSTER_DIR/state
SlurmdSpoolDir=$CLUSTER_DIR/spool/%n
SlurmctldPidFile=$CLUSTER_DIR/run/slurmctld.pid
SlurmdPidFile=$CLUSTER_DIR/run/slurmd-%n.pid
SlurmctldLogFile=$CLUSTER_DIR/log/slurmctld.log
SlurmdLogFile=$CLUSTER_DIR/log/slurmd-%n.log
PluginDir=$CLUSTER_DIR/plugins:$system_plugins
PlugStackConfig=$CLUSTER_DIR/etc/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
PropagateResourceLimits=NONE
ReturnToService=2
KillWait=2
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=2,sched_interval=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=5000
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=DEFAULT Boards=1 $CLUSTER_CPUS RealMemory=512000 TmpDisk=100000
NodeName=v[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=${CLUSTER_PORTS[3]}-${CLUSTER_PORTS[4]} Gres=gpu:${CLUSTER_TYPES[0]}:$CLUSTER_GPUS Feature=v100
NodeName=a[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=${CLUSTER_PORTS[5]}-${CLUSTER_PORTS[6]} Gres=gpu:${CLUSTER_TYPES[1]}:$CLUSTER_GPUS Feature=a100
PartitionName=gpu Nodes=v[1-2],a[1-2] Default=YES MaxTime=2-0 State=UP
END
    if [[ $with_plugin = yes ]]; then echo 'JobSubmitPlugins=dnnest'; fi
    if [[ $accounting = no ]]; then return 0; fi
    # AccountingStoragePass is munge's socket again, or slurmctld would talk to slurmdbd
    # through the munged of the system.
    cat <<END
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=${CLUSTER_PORTS[1]}
AccountingStoragePass=$CLUSTER_DIR/run/munge.sock
AccountingStorageTRES=gres/gpu,gres/gpu:${CLUSTER_TYPES[1]},gres/gpu:${CLUSTER_TYPES[0]}
END
}

# Slurm uses the later of two equal keys but complains in every command, so a line of the
# caller replaces ours.
_cluster_write_slurm_conf() {
    local conf=$CLUSTER_DIR/etc/slurm.conf line
    _cluster_slurm_conf "$1" "$2" >"$conf" || return 1
    shift 2
    for line in "$@"; do
        sed -i "/^${line%%=*}=/Id" "$conf"
    done
    printf '%s\n' "$@" >>"$conf"
}

_cluster_write_gres_conf() {
    # Plain files are enough for slurmd, and a Count without File would be refused.
    cat >"$CLUSTER_DIR/etc/gres.conf" <<END
NodeName=v[1-2] Name=gpu Type=${CLUSTER_TYPES[0]} File=$CLUSTER_DIR/dev/gpu[0-$((CLUSTER_GPUS - 1))]
NodeName=a[1-2] Name=gpu Type=${CLUSTER_TYPES[1]} File=$CLUSTER_DIR/dev/gpu[0-$((CLUSTER_GPUS - 1))]
END
    # slurmd looks for cgroups although nothing here uses them, and ends if there are none.
    # From 24.05 on an option disables that; before, that option would end it too, but
    # cgroup version 1 is not accessed until it is used, mounted or not.
    if (($(_cluster_version) >= 2405)); then
        echo 'CgroupPlugin=disabled'
    else
        echo 'CgroupPlugin=cgroup/v1'
    fi >"$CLUSTER_DIR/etc/cgroup.conf"
}

_cluster_write_slurmdbd_conf() {
    install -m 600 /dev/stdin "$CLUSTER_DIR/etc/slurmdbd.conf" <<END
AuthType=auth/munge
AuthInfo=socket=$CLUSTER_DIR/run/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=${CLUSTER_PORTS[1]}
SlurmUser=root
LogFile=$CLUSTER_DIR/log/slurmdbd.log
PidFile=$CLUSTER_DIR/run/slurmdbd.pid
PluginDir=$(_cluster_plugin_dir)
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=${CLUSTER_PORTS[2]}
StorageUser=slurm
StoragePass=$1
StorageLoc=slurm
END
}

# --- daemons -------------------------------------------------------------------------

_cluster_start_munged() {
    local run=$CLUSTER_DIR/run
    install -m 600 /dev/null "$run/munge.key"
    head -c 1024 /dev/urandom >"$run/munge.key"
    _cluster_spawn munged munged --foreground --force --key-file="$run/munge.key" \
        --socket="$run/munge.sock" --pid-file="$run/munged.pid" \
        --log-file="$CLUSTER_DIR/log/munged.log" --seed-file="$run/munge.seed"
    _cluster_ready cluster_as_user munge -n -S "$run/munge.sock"
}

_cluster_start_mariadb() {
    local db=$CLUSTER_DIR/db port=${CLUSTER_PORTS[2]} password=$1
    # No file of the system is read. Durability is not needed here and costs seconds.
    local options=(--no-defaults --user=root --datadir="$db/data" --tmpdir="$db"
        --innodb-buffer-pool-size=32M --innodb-log-file-size=16M
        --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync --skip-sync-frm)

    # Root of the operating system is root of the data base, by its socket only: no
    # password, and no access for other users of the machine. --force: go on where the name
    # of the host cannot be looked up, which is common in a bare container.
    SLURM_CONF=$CLUSTER_DIR/etc/slurm.conf mariadb-install-db "${options[@]}" \
        --force --skip-name-resolve --skip-test-db --auth-root-authentication-method=socket \
        --auth-root-socket-user=root </dev/null >"$CLUSTER_DIR/log/mariadb-install.out" 2>&1 ||
        return 1
    _cluster_spawn mariadbd mariadbd "${options[@]}" --bind-address=127.0.0.1 --port="$port" \
        --socket="$db/sock" --pid-file="$db/pid" --skip-name-resolve --skip-log-bin
    _cluster_ready _cluster_sql 'SELECT 1' || return 1
    _cluster_sql "CREATE DATABASE slurm;
        CREATE USER slurm@'127.0.0.1' IDENTIFIED BY '$password';
        GRANT ALL ON slurm.* TO slurm@'127.0.0.1'" >>"$CLUSTER_DIR/log/mariadbd.out" 2>&1
}

_cluster_sql() {
    mariadb --no-defaults --user=root --socket="$CLUSTER_DIR/db/sock" -e "$1"
}

_cluster_start_dbd() {
    local password
    password=$(head -c 18 /dev/urandom | base64 | tr -d '+/=')
    _cluster_write_slurmdbd_conf "$password" || return 1
    _cluster_start_mariadb "$password" || return 1
    _cluster_spawn slurmdbd slurmdbd -D
    # Without its cluster in the database slurmctld ends immediately, so this comes first.
    _cluster_ready sacctmgr -n list cluster || return 1
    {
        sacctmgr -i add cluster private &&
            sacctmgr -i add account research Description=tests Organization=tests &&
            sacctmgr -i add user "$CLUSTER_USER" Account=research &&
            sacctmgr -i add user root Account=research
    } </dev/null >>"$CLUSTER_DIR/log/sacctmgr.out" 2>&1
}

# Another program, such as a client of Slurm that connects again, may have taken one of our
# ports since they were picked, and gives it back soon.
_cluster_start_ctld() {
    local _
    for _ in 1 2 3; do
        CLUSTER_CTLD_FROM=$(cat "$CLUSTER_DIR/log/slurmctld.log" 2>/dev/null | wc -l)
        _cluster_spawn slurmctld "${CLUSTER_CTLD_VIA[@]}" \
            slurmctld -D -f "$CLUSTER_DIR/etc/slurm.conf"
        if _cluster_ready _cluster_ctld_up; then return; fi
        tail -n 1 "$CLUSTER_DIR/log/slurmctld.log" | grep -q 'Address already in use' || return 1
    done
    return 1
}

_cluster_ctld_up() {
    scontrol ping | grep -q 'is UP'
}

_cluster_nodes_idle() {
    [[ $(sinfo -h -N -t idle -o %N | sort -u | wc -l) = "${#CLUSTER_NODES[@]}" ]]
}

# --- interface -----------------------------------------------------------------------

cluster_until() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        ((SECONDS <= end)) || return 1
        sleep 0.1
    done
}

cluster_missing() {
    local command
    if ((EUID != 0)); then
        echo 'a private Slurm needs root'
        return
    fi
    for command in munged mariadbd mariadb-install-db mariadb slurmdbd slurmctld slurmd \
        sbatch srun sacct sacctmgr scontrol setpriv setsid; do
        if ! command -v "$command" >/dev/null; then
            echo "$command is not installed"
            return
        fi
    done
    return 1
}

_cluster_failed() {
    _cluster_say "$1 did not start"
    cluster_log 15 >&2
    return 1
}

cluster_start() {
    local plugin_dir='' with_plugin=no accounting=yes nodes=yes extra=() reason node

    CLUSTER_DIR=$(realpath -m "$1") || return 1
    shift
    while (($# > 0)); do
        case $1 in
            --plugin-dir) plugin_dir=$2 with_plugin=yes && shift 2 ;;
            --no-accounting) accounting=no && shift ;;
            --no-nodes) nodes=no && shift ;;
            --conf) extra+=("$2") && shift 2 ;;
            *) _cluster_say "cluster_start: unknown argument '$1'" && return 2 ;;
        esac
    done
    if reason=$(cluster_missing); then
        _cluster_say "$reason"
        return 1
    fi
    # The name of a socket has 107 bytes at most.
    if ((${#CLUSTER_DIR} > 80)); then
        _cluster_say "directory name too long for a socket: $CLUSTER_DIR"
        return 1
    fi
    if ! _cluster_none ''; then
        _cluster_say "a cluster runs in $CLUSTER_DIR already"
        return 1
    fi

    export SLURM_CONF=$CLUSTER_DIR/etc/slurm.conf
    _cluster_pick_ports || return 1
    _cluster_make_dirs || return 1
    if [[ $with_plugin = yes ]]; then _cluster_copy_plugins "$plugin_dir" || return 1; fi
    _cluster_write_slurm_conf "$with_plugin" "$accounting" "${extra[@]}" || return 1
    _cluster_write_gres_conf || return 1

    _cluster_start_munged || _cluster_failed munged || return 1
    if [[ $accounting = yes ]]; then
        _cluster_start_dbd || _cluster_failed 'accounting' || return 1
    fi
    _cluster_start_ctld || _cluster_failed slurmctld || return 1
    if [[ $nodes = no ]]; then return 0; fi
    for node in "${CLUSTER_NODES[@]}"; do
        _cluster_spawn "slurmd-$node" slurmd -D -f "$SLURM_CONF" -N "$node"
    done
    if ! cluster_until "$CLUSTER_START_S" _cluster_nodes_idle; then
        sinfo -N -o '%N %T %E' >&2
        _cluster_failed 'a slurmd'
    fi
}

# Jobs end first, while there are still daemons that know their processes; then the
# controller, so that it does not start new ones; then the nodes, and last the daemons that
# the others need.
cluster_stop() {
    local jobs name
    if [[ -z $CLUSTER_DIR || ! -d $CLUSTER_DIR ]] || _cluster_none ''; then
        _cluster_free_ports
        return
    fi
    if [[ -n $(cluster_pids slurmctld) ]]; then
        jobs=$(timeout 5 squeue -h -o %A 2>/dev/null | sort -u) || true
        if [[ -n $jobs ]]; then
            # shellcheck disable=SC2086  # one word per job
            timeout 5 scancel $jobs 2>/dev/null || true
            cluster_until 5 _cluster_none slurmstepd || true
        fi
    fi
    for name in slurmctld slurmd slurmstepd slurmdbd mariadbd munged; do
        _cluster_end "$name"
    done
    _cluster_sweep && _cluster_free_ports
}

# COMMAND runs after the stop, to remove other files of the test.
cluster_trap() {
    # shellcheck disable=SC2064  # expand COMMAND now
    trap "trap '' INT TERM HUP; cluster_stop || :; ${1-:}" EXIT
    # An exit goes through the trap above, with the status that a signal has in a shell.
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

cluster_reconfigure() {
    scontrol reconfigure || return 1
    # From 23.11 on another process takes over.
    cluster_until "$CLUSTER_START_S" _cluster_ctld_up || _cluster_failed slurmctld
}

cluster_restart_ctld() {
    _cluster_end slurmctld
    _cluster_start_ctld || _cluster_failed slurmctld
}

cluster_as_user() (
    cd "$CLUSTER_DIR/home" || exit 1
    exec setpriv --reuid="$CLUSTER_USER" --regid="$(id -g "$CLUSTER_USER")" --clear-groups \
        env HOME="$CLUSTER_DIR/home" USER="$CLUSTER_USER" LOGNAME="$CLUSTER_USER" \
        SHELL=/bin/sh SLURM_CONF="$CLUSTER_DIR/etc/slurm.conf" "$@"
)

cluster_job_field() {
    local text
    text=" $(scontrol show job -o "$1")" || return 1
    # Values may contain blanks: a value ends at the next word that looks like a key.
    [[ $text =~ " $2="(.*) ]] || return 1
    sed -E 's/ +[A-Z][A-Za-z_]*([/:][A-Za-z:]+)*=.*//' <<<"${BASH_REMATCH[1]}"
}

cluster_wait_job() {
    local id=$1 want=$2 end=$((SECONDS + $3)) state=''
    while ((SECONDS <= end)); do
        state=$(cluster_job_field "$id" JobState) || state=UNKNOWN
        if [[ $state =~ ^($want)$ ]]; then return 0; fi
        # A job that has ended will not change any more.
        case $state in
            BOOT_FAIL | CANCELLED | COMPLETED | DEADLINE | FAILED | NODE_FAIL | PREEMPTED | \
                OUT_OF_MEMORY | TIMEOUT) break ;;
        esac
        sleep 0.1
    done
    _cluster_say "job $id is $state ($(cluster_job_field "$id" Reason)), expected $want"
    return 1
}

cluster_log() {
    local file
    for file in "$CLUSTER_DIR"/log/*; do
        if [[ ! -s $file ]]; then continue; fi
        # Slurm's daemons log every line twice; only before it has read its configuration
        # does one write to .out alone.
        if [[ $file = *.out && -s ${file%.out}.log ]]; then continue; fi
        printf '==> %s <==\n' "${file##*/}"
        tail -n "${1-40}" "$file"
    done
}
