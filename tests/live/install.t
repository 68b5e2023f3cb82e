#!/bin/bash
# install.t - 'make install', and a slurmctld that starts with the lines that it prints
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The directory is a new one in PluginDir of a private Slurm, so that nothing of the system
# changes. What is installed is what this build has made. Its plugins, command and shipped
# files are then those of another test on a private Slurm.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin install job_submit_dnnest spank_dnnest
if [[ ! -e $build/Makefile ]]; then skip_all "$build has no Makefile"; fi

readonly JOB=(--gres=gpu:a100:4 -c 80 -t 1-0)
plugins=$dir/plugins
usr=$dir/usr

# Sets 'said' and 'status'.
run() {
    status=0
    said=$("$@" 2>&1) || status=$?
}
# make_to PLUGINDIR TARGET
make_to() {
    run make -C "$build" --no-print-directory "$2" prefix="$usr" sysconfdir="$dir/conf" \
        localstatedir="$dir/var" slurmplugindir="$1"
}
# The lines that 'make install' prints for a file: behind the line that names it, indented.
lines_for() {
    sed -n "\\|^.* to .*$1|,/^[^ ]/ s/^    //p" <<<"$said"
}
verify() {
    run "$top/packaging/lib/verify-install" "$@"
}
time_limit() {
    local id
    id=$(cluster_as_user sbatch --parsable -H "${JOB[@]}" "$@" --wrap=true 2>/dev/null)
    cluster_job_field "$id" TimeLimit
}

# --- where -----------------------------------------------------------------------------

system=$(_cluster_plugin_dir)
find=$top/packaging/lib/slurm-plugindir
run env -u SLURM_CONF "$find"
is 'the directory of the installed Slurm is found' "$status $said" "0 $(realpath "$system")"
# The plugins of this Slurm, without a dnnest that was installed among them.
mkdir "$dir/system"
find "$system" -name '*.so' ! -name '*_dnnest.so' -exec ln -s -t "$dir/system" {} +
system=$dir/system
_cluster_plugin_dir() { echo "$system"; }
mkdir -p "$dir/one/lib/slurm" "$dir/two/lib/slurm" "$dir/two/lib64/slurm" "$dir/none"
touch "$dir"/{one,two}/lib/slurm/select_linear.so "$dir/two/lib64/slurm/select_cons_tres.so"
run "$find" --prefix="$dir/one"
is 'the directory below a prefix is found' "$status $said" "0 $dir/one/lib/slurm"
run "$find" --prefix="$dir/none"
is 'a prefix without plugins of Slurm is an error' \
    "$status $said" "1 slurm-plugindir: no plugins of Slurm below $dir/none"
run "$find" --prefix="$dir/two"
is 'several directories are an error that names them' "$status $said" \
    "1 slurm-plugindir: several directories below $dir/two have plugins of Slurm:
  $dir/two/lib64/slurm
  $dir/two/lib/slurm"
echo "PluginDir = $dir/none:$dir/one/lib/slurm" >"$dir/other.conf"
run env SLURM_CONF="$dir/other.conf" "$find"
is 'PluginDir of slurm.conf overrides what Slurm was compiled with' \
    "$status $said" "0 $dir/one/lib/slurm"
printf '%s\n' ClusterName=Other 'Include %c.conf' >"$dir/main.conf"
run env SLURM_CONF="$dir/main.conf" "$find"
is 'PluginDir of a file that slurm.conf includes overrides it, too' \
    "$status $said" "0 $dir/one/lib/slurm"

# A configure from the beginning, in a new directory.
mkdir "$dir/fresh"
if [[ -e $top/configure && ! -e $top/config.status ]]; then
    run env -C "$dir/fresh" "$top/configure" --with-plugindir="$dir/none"
    like 'configure warns of a --with-plugindir that Slurm does not search' "$said" \
        "WARNING: $dir/none has no plugins of Slurm: .* only if PluginDir of slurm.conf names it"
    like 'configure says where the plugins will be' "$said" "plugins in +$dir/none"
    run env -C "$dir/fresh" "$top/configure" --with-slurm="$dir/none" CPPFLAGS=-I/usr/include
    like 'configure refuses to guess' "$status $said" \
        '^1 .*no plugins of Slurm below .*Name it with --with-plugindir=DIR'
else
    skip 'configure warns of a --with-plugindir that Slurm does not search' 'the tree is configured'
fi

# --- install -----------------------------------------------------------------------------

live_start --no-accounting
is 'before the installation a job is as written' "$(time_limit --comment="dnnest:$LIVE_KEYS")" \
    '1-00:00:00'

make_to "$dir/elsewhere" install
like 'make install fails where slurmctld would not find the plugin' "$status $said" \
    "^2 .*slurmctld does not search $dir/elsewhere: its PluginDir is $plugins:$system"
like 'make install says what must not be done then' "$said" \
    'do not add it to JobSubmitPlugins before this is repaired'
is 'make install prints no line for JobSubmitPlugins then' "$(grep 'JobSubmitPlugins=' <<<"$said")" ''
make_to "$dir/elsewhere" uninstall

before=$(cd "$dir" && find usr conf plugins var -type f 2>/dev/null | sort || true)
make_to "$plugins" install
is 'make install succeeds where slurmctld finds the plugin' "$status" 0
like 'make install says that slurmctld loads the plugin' "$said" \
    "dnnest: slurmctld [0-9.]+ loads $plugins/job_submit_dnnest.so"
is 'make install prints the line for slurm.conf' \
    "$(lines_for "$SLURM_CONF")" 'JobSubmitPlugins=dnnest'
is 'make install prints the line for plugstack.conf' \
    "$(lines_for "$dir/etc/plugstack.conf")" 'optional spank_dnnest.so'
lines_for "$SLURM_CONF" >>"$SLURM_CONF"
lines_for "$dir/etc/plugstack.conf" >>"$dir/etc/plugstack.conf"

# What the README says about dnnest.conf, with the installed files.
mkdir -p "$dir/seen"
live_conf "DataDir=$usr/share/dnnest" Mode=enforce
run "$usr/bin/dnnest" config --check "$dir/etc/dnnest.conf"
is 'the installed command finds the configuration right' \
    "$status $(grep ': ok$' <<<"$said")" "0 $dir/etc/dnnest.conf: ok"
ok 'slurmctld starts with the printed lines' live_restart
like 'slurmctld has loaded the shipped files' "$(logged)" \
    'mode enforce, 2 GPU types, [0-9]+ devices, [0-9]+ data sets, model bundle default'
not_ok 'the installed plugin changes a job' \
    test "$(time_limit --comment="dnnest:$LIVE_KEYS")" = 1-00:00:00
not_ok 'the installed SPANK plugin carries --dnnest' \
    test "$(time_limit --dnnest="$LIVE_KEYS")" = 1-00:00:00

make_to "$plugins" install
like 'a second make install finds nothing to add' "$status $(lines_for "$SLURM_CONF")" \
    '^0 nothing: it has JobSubmitPlugins=dnnest$'

# --- what verify-install tells ------------------------------------------------------------

version=$(slurmctld -V | sed 's/.* //')
verify "$plugins" 20.11.9
like 'a plugin for another version of Slurm is told' "$status $said" \
    "^1 .*built for Slurm 20.11.9, and slurmctld is $version"
mkdir "$dir/first"
cp "$plugins/job_submit_dnnest.so" "$dir/first/"
sed "s|^PluginDir=|&$dir/first:|" "$SLURM_CONF" >"$dir/first/slurm.conf"
verify_first() {
    # No running controller: its answer would come first.
    mkdir -p "$dir/bin"
    printf '#!/bin/sh\nexit 1\n' >"$dir/bin/scontrol"
    chmod 755 "$dir/bin/scontrol"
    run env SLURM_CONF="$dir/first/slurm.conf" PATH="$dir/bin:$PATH" \
        "$top/packaging/lib/verify-install" "$plugins" "$version"
}
verify_first
like 'another plugin that comes first in PluginDir is told' "$status $said" \
    "^1 .*$dir/first/job_submit_dnnest.so comes first in PluginDir"
sed -i "s|$dir/first:||; s|^JobSubmitPlugins=.*|JobSubmitPlugins=lua|" "$dir/first/slurm.conf"
verify_first
is 'dnnest is put after other plugins' \
    "$status $(lines_for "$dir/first/slurm.conf")" '0 JobSubmitPlugins=lua,dnnest'
mkdir "$dir/first/plugstack.conf.d"
sed -i '/^PlugStackConfig=/d' "$dir/first/slurm.conf"
touch "$dir/first/plugstack.conf.d/dnnest.conf"
verify_first
like 'a directory of snippets with that of dnnest is to be included' "$said" \
    "plugstack.conf on submit hosts and nodes:"$'\n'"    include $dir/first/plugstack.conf.d/[*].conf$"
echo "include $dir/first/plugstack.conf.d/*.conf" >"$dir/first/plugstack.conf"
verify_first
like 'a directory that is included needs no line' "$said" \
    "    nothing: it includes $dir/first/plugstack.conf.d$"
named() {
    run env SLURM_CONF="$dir/first/slurm.conf" "$top/packaging/lib/verify-install" --named "$plugins"
}
named
is 'a slurm.conf without dnnest does not name it' "$status $said" '1 '
for value in dnnest lua,dnnest 'lua, job_submit/dnnest' 'dnnest Nothing=more'; do
    sed -i "s|^JobSubmitPlugins=.*|JobSubmitPlugins=$value|" "$dir/first/slurm.conf"
    named
    is "a slurm.conf names dnnest: $value" "$status $said" "0 $dir/first/slurm.conf"
done
sed -i '/^JobSubmitPlugins=/d' "$dir/first/slurm.conf"
named
is 'a slurm.conf without JobSubmitPlugins does not name it' "$status $said" '1 '
mkdir "$dir/first/parts"
echo 'include parts/plugins.conf' >>"$dir/first/slurm.conf"
echo "Include $dir/first/parts/submit.conf" >"$dir/first/parts/plugins.conf"
echo ' JobSubmitPlugins = "lua,dnnest" # both' >"$dir/first/parts/submit.conf"
named
is 'a file that slurm.conf includes names dnnest' "$status $said" "0 $dir/first/slurm.conf"
echo "Include $dir/first/slurm.conf" >>"$dir/first/parts/submit.conf"
named
is 'a slurm.conf that includes itself is read to an end' "$status $said" "0 $dir/first/slurm.conf"
mkfifo "$dir/first/parts/fifo"
echo 'Include parts/fifo' >>"$dir/first/slurm.conf"
named
is 'an included FIFO is not waited for' "$status $said" "0 $dir/first/slurm.conf"
sed -i '/fifo/d' "$dir/first/slurm.conf"
mkdir "$dir/with a blank"
cp "$plugins/job_submit_dnnest.so" "$dir/with a blank/"
sed -i "s|^PluginDir=|&$dir/with a blank:|" "$dir/first/slurm.conf"
verify_first
like 'a directory with a blank in PluginDir is looked into' "$status $said" \
    "^1 .*$dir/with a blank/job_submit_dnnest.so comes first in PluginDir"
mkdir "$dir/empty"
cp "$plugins/spank_dnnest.so" "$dir/empty/"
verify "$dir/empty" "$version"
like 'a missing plugin is told' "$status $said" "^1 .*$dir/empty/job_submit_dnnest.so is missing"

# --- uninstall -----------------------------------------------------------------------------

rm "$plugins/job_submit_dnnest.so"
not_ok 'slurmctld does not start without a plugin that slurm.conf names' cluster_restart_ctld
is 'slurmctld says why it does not start' \
    "$(grep -c 'fatal: .*job_submit' "$dir/log/slurmctld.log")" 1
make_to "$plugins" install
ok 'slurmctld starts when the plugin is installed again' cluster_restart_ctld

cluster_stop
export DNNEST_PLUGIN_DIR=$plugins DNNEST=$usr/bin/dnnest DNNEST_SHARE=$usr/share/dnnest
run env -u SLURM_CONF bash "$here/carriers.t"
is 'every test of carriers.t passes with what was installed' \
    "$status $(grep -c '^ok' <<<"$said" | sed 's/^[1-9][0-9][0-9]*$/many/') $(grep '^not ok' <<<"$said")" \
    '0 many '
export -n DNNEST_PLUGIN_DIR DNNEST DNNEST_SHARE

make_to "$plugins" uninstall
like 'make uninstall says what must be removed from slurm.conf' "$status $said" \
    '^0 .*remove dnnest from JobSubmitPlugins= of slurm.conf'
is 'make uninstall leaves no file' \
    "$(cd "$dir" && find usr conf plugins var -type f 2>/dev/null | sort || true)" "$before"

done_testing
