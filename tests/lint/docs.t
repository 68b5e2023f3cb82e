#!/bin/bash
# docs.t - code, help, man pages and sample files agree
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The program's own tables are the reference: 'dnnest check --keys', 'dnnest config' and the
# help of every command.

. "$(dirname "$0")/../cli/lib.sh"

# facts CHECK: prints what is wrong, nothing if there is no error
facts() {
    python3 - "$top" "${DNNEST%/*}" "$work" "$1" <<'PYTHON'
import glob
import json
import re
import subprocess
import sys

top, build, work, check = sys.argv[1:]


def source(name, folder=top):
    with open(folder + "/" + name, encoding="utf-8") as file:
        return file.read()


def load(name):
    text = source(name, work)
    return json.loads(text) if name.endswith(".json") else text


def page(name):
    """The source of a page, with the entries that are made from the tables."""
    folder = "dev" if name == "dnnest-dev.1" else "cli/pages"
    return subprocess.run([build + "/cli/page_rows"], input=source(f"{folder}/{name}.scd"),
                          check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def compare(what, have, want):
    for line in sorted(set(have) - set(want)):
        print(what, "has what the code has not:", line)
    for line in sorted(set(want) - set(have)):
        print(what, "lacks:", line)
    for line in sorted({x for x in have if list(have).count(x) > 1}):
        print(what, "has it twice:", line)


def entries(text):
    """The lines that begin with a key in bold and an equals sign."""
    return re.findall(r"^\*\w+\*=.*$", text, re.M)


KEY_FORM = {"int": "N", "real": "X", "name": "NAME", "time": "TIME", "image": "N|HxW|DxHxW"}
RULE_FORM = {"ratio": "RATIO", "count": "N", "time": "TIME", "percent": "PERCENT"}


def spec_page():
    want = []
    for key in load("keys.json")["keys"]:
        form = KEY_FORM.get(key["type"]) or "|".join(key["values"])
        bounds = "" if key["type"] in ("enum", "name") else " (%s)" % key["range"]
        want.append("*%s*=%s%s" % (key["key"], form, bounds))
    compare("dnnest.spec.5", entries(page("dnnest.spec.5")), want)


def spec_groups():
    text = page("dnnest.spec.5")
    for key in load("keys.json")["keys"]:
        section = re.search(r"^# %s$(.*?)(?=^# )" % key["group"].upper(), text, re.M | re.S)
        if not section or "*%s*=" % key["key"] not in section.group(1):
            print("dnnest.spec.5:", key["key"], "is not below", key["group"].upper())


def sidecar():
    """What the reader takes, the schema and the page say the same."""
    schema = json.loads(source("etc/sidecar.schema.json", build))
    reader = source("model/graph/sidecar.c")
    graph = schema["properties"]["graph"]["properties"]
    places = {"sidecar": schema["properties"], "graph": graph,
              "op": schema["$defs"]["op"]["properties"]}
    text = page("dnnest.sidecar.5")
    for name, properties in places.items():
        array = re.search(r"%s_keys\[\] =(.*?);" % name, reader, re.S).group(1)
        keys = "".join(re.findall(r'"([^"]*)"', array)).split()
        compare("schema: " + name, sorted(properties), sorted(keys))
        for key in properties:
            if not re.search(r"^(?:\*\w+\*, )?\*%s\*" % key, text, re.M):
                print("dnnest.sidecar.5: no", key)
    kinds = re.findall(r'ROW \(LAYER_\w+, "(\w+)"', source("model/graph/layer.h"))[1:]
    compare("schema: op", schema["$defs"]["op"]["properties"]["op"]["enum"], kinds)
    for kind in kinds:
        if "*%s*" % kind not in text:
            print("dnnest.sidecar.5: no kind", kind)
    keys = load("keys.json")["keys"]
    spec = schema["properties"]["spec"]["properties"]
    compare("schema: spec", sorted(spec), sorted(k["key"] for k in keys))
    for key in keys:
        if spec[key["key"]].get("enum", key.get("values")) != key.get("values"):
            print("schema: spec:", key["key"], "has other values")


def plugin_chapter(title):
    return sections(source("plugin/submit/job_submit_dnnest.8.scd"), "#")[title]


def members(properties):
    for key, value in properties.items():
        yield key
        yield from members(value.get("items", value).get("properties", {}))


def written(code):
    """Members, by the functions that write one or in formats."""
    by_name = r'\b(?:dn_json_)?(?:put|add)(?:_\w+)? \(\s*\w+,\s*"(\w+)"'
    return set(re.findall(by_name, code)) | set(re.findall(r'\\"(\w+)\\":', code))


def words(code, name):
    """Those of a list of rows, #define NAME(ROW)."""
    rows = re.search(r"#define %s\(ROW\)((?:.*\\\n)+.*)" % name, code).group(1)
    return re.findall(r'ROW \(\w+, "(\w+)"\)', rows)


def record():
    """The writers, the schemas and the page have the same members."""
    for schema, files, title in (
            ("record", ("model/rewrite/record.c", "model/rewrite/recorded.c"),
             "DECISION RECORD"),
            ("decision-log", ("plugin/trace/event.c",), "DECISION LOG")):
        properties = json.loads(source("etc/%s.schema.json" % schema))["properties"]
        compare(schema + ".schema.json", set(members(properties)),
                set().union(*(written(source(code)) for code in files)))
        for key in members(properties):
            if "*%s*" % key not in plugin_chapter(title):
                print("job_submit_dnnest.8,", title, "lacks", key)
    policy = source("model/policy/policy.h")
    abstained = words(policy, "DN_ABSTAIN")[1:]
    compare("decision-log.schema.json", properties["abstained"]["enum"], abstained)
    verdicts = words(policy, "DN_VERDICTS")[1:]
    compare("decision-log.schema.json", properties["verdict"]["enum"], verdicts + ["error"])
    properties = json.loads(source("etc/record.schema.json"))["properties"]
    compare("record.schema.json", properties["verdict"]["enum"], verdicts)
    for reason in abstained:
        if reason not in plugin_chapter("DECISION LOG"):
            print("job_submit_dnnest.8 lacks", reason)


def counters():
    """Every metric and every value of its label is on the page."""
    code = source("plugin/trace/counters.c")
    chapter = plugin_chapter("COUNTERS")
    families = re.search(r"families\[\] = \{(.*?)^\};", code, re.S | re.M).group(1)
    want = ["dnnest_%s_total" % x for x in re.findall(r'\b(?:ONE|MANY) \(\s*"(\w+)",', families)]
    want += ["dnnest_" + x for x in re.findall(r'add_head \(\s*buf,\s*"(\w+)"', code)]
    compare("job_submit_dnnest.8", re.findall(r"\*(dnnest_\w+)\*", chapter), want)
    lists = source("plugin/trace/counters.h") + source("model/base/err.h")
    for name in ("DN_COUNTED", "DN_DROPS", "DN_ERRORS", "DN_RESULTS"):
        for value in words(lists, name)[1:]:
            if not re.search(r"\b%s\b" % value, chapter):
                print("job_submit_dnnest.8 lacks the label", value)


def hardware_page():
    """Every key of the catalogue, in the order of its table."""
    keys = re.findall(r'(?:    (?:KEY|RATE|TRAIT|FLAG|SINCE|PROFILE) \(|_key\[\] = )"(\w+)"',
                      source("model/hardware/catalogue.c"))
    text = page("dnnest.hardware.5").split("# EXAMPLE")[0]
    compare("dnnest.hardware.5", re.findall(r"^\*(\w+)\*=", text, re.M), keys)


def dev_page():
    """The commands of dnnest-dev with their options, and what bench measures."""
    chapters = sections(page("dnnest-dev.1"), "#")
    described = sections(chapters["COMMANDS"], "##")
    own = sections(chapters["OPTIONS"], "##")
    names = [line.split()[0] for line in load("dev-commands.txt").splitlines()]
    compare("dnnest-dev.1", described, names)
    for command in names:
        lines = re.findall(r"^(?:\*-\w\*, )?\*--([a-z-]+)\*", own.get(command, ""), re.M)
        compare("dnnest-dev.1, " + command, lines, own_options(load("dev-help-%s.txt" % command)))
        if "*dnnest-dev %s* " % command not in chapters["SYNOPSIS"]:
            print("dnnest-dev.1 has no usage of", command)
    sys.path.insert(0, top + "/bench")
    for op in __import__("samples").WORDS["op"].split():
        if "*%s*" % op not in described["bench"]:
            print("dnnest-dev.1 does not name", op)


def conf_page():
    config = load("config.json")
    want = []
    for rule in config["rules"]:
        if rule["type"] == "enum":
            form = "|".join(rule["range"].split()) + " ("
        else:
            form = "%s (%s, " % (RULE_FORM[rule["type"]], rule["range"])
        want.append("*%s*=%sdefault %s)" % (rule["key"], form, rule["default"]))
    for key in config["site"]:
        unset = "unset" if key["value"] is None else key["value"]
        form = {"Accounting": "SOURCE"}.get(key["key"], "PATH")
        want.append("*%s*=%s" % (key["key"], form) if key["range"] is None else
                    "*%s*=X (%s, default %s)" % (key["key"], key["range"], unset))
    want += ["*%s*=VALUE" % key["key"] for key in config["gpu_keys"] + config["policy_keys"]]
    compare("dnnest.conf.5", entries(page("dnnest.conf.5")), want)


def guide_keys():
    config = load("config.json")
    known = {key["key"] for part in ("rules", "site", "gpu_keys") for key in config[part]}
    for settings in re.findall(r"Settings?: (.*?)\. ", source("doc/admin-guide.md").replace("\n", " ")):
        for key in re.findall(r"`([A-Z]\w+)`", settings):
            if key not in known and key != "Gpu":
                print("doc/admin-guide.md: no key:", key)


def conf_order():
    rows = re.findall(r"^\|  (\w+)$\n^:  (.*)$", page("dnnest.conf.5"), re.M)
    compare("dnnest.conf.5, Stricter is", rows,
            [(rule["key"], rule["stricter"] or "no order") for rule in load("config.json")["rules"]])


def sample():
    """Every rule once, commented out, at its default; every other key at least once."""
    lines = source("etc/dnnest.conf").splitlines()
    config = load("config.json")
    rows = [x[1:] for x in lines if re.match(r"#\w+=", x)]
    want = ["%s=%s" % (rule["key"], rule["default"]) for rule in config["rules"]]
    paths = {key["key"] for key in config["site"]}
    compare("etc/dnnest.conf", [x for x in rows if x.split("=")[0] not in paths], want)
    compare("etc/dnnest.conf", [x.split("=")[0] for x in rows if x.split("=")[0] in paths], paths)
    gpus = " ".join(x for x in lines if x.startswith("#Gpu "))
    compare("etc/dnnest.conf: Gpu lines", set(re.findall(r"(\w+)=", gpus)),
            [key["key"] for key in config["gpu_keys"]])
    scopes = " ".join(x for x in lines if x.startswith("#Policy "))
    rules = {rule["key"] for rule in config["rules"]}
    compare("etc/dnnest.conf: Policy lines", set(re.findall(r"(\w+)=", scopes)) - rules,
            [key["key"] for key in config["policy_keys"]])
    for line in lines:
        if line and not line.startswith("#"):
            print("etc/dnnest.conf is not commented out:", line)


def sample_values():
    config = load("sample.json")
    for rule in config["rules"]:
        if rule["value"] != rule["default"]:
            print("etc/dnnest.conf sets", rule["key"], "to", rule["value"])
    if not config["gpus"]:
        print("etc/dnnest.conf shows no Gpu line")


def options(text):
    return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M))


def own_options(text):
    """Those that a command's help explains: at most twelve."""
    own = options(text.split("\nOptions of ")[0])
    if len(own) > 12:
        print("more than 12 options:", text.splitlines()[0])
    return own


def short_options(text):
    return set(re.findall(r"^ +-(\w), --([a-z-]+)", text, re.M))


def sections(text, mark):
    parts = re.split(r"^%s (.*)$" % mark, text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


OWN_PAGES = {"predict"}


def command_sections():
    return sections(sections(page("dnnest.1"), "#")["COMMANDS"], "##")


def command_page(command):
    """Its page, or its section of dnnest(1)."""
    return page("dnnest-%s.1" % command) if command in OWN_PAGES else command_sections()[command]


def commands():
    """Every command has a section, which begins with its summary, and perhaps a page."""
    have = re.findall(r"(?<=/dnnest-)[a-z]+(?=\.1\.scd)",
                      " ".join(glob.glob(top + "/cli/pages/*.scd")))
    summaries = dict(x.split(None, 1) for x in load("commands.txt").splitlines())
    compare("cli/pages", have, OWN_PAGES)
    compare("dnnest.1", command_sections(), summaries)
    for command, text in command_sections().items():
        if text.strip().split("\n\n")[0] != summaries.get(command, "") + ".":
            print("dnnest.1: the summary of %s is not that of the help" % command)
        if command in OWN_PAGES and "*dnnest-%s*(1)" % command not in text:
            print("dnnest.1 does not name the page of", command)
    for command in OWN_PAGES:
        summary = summaries[command]
        name = re.search(r"^# NAME\n\n(.*)$", command_page(command), re.M).group(1)
        if name != "dnnest-%s - %s%s" % (command, summary[0].lower(), summary[1:]):
            print("dnnest-%s.1: the summary is not that of the help: %s" % (command, name))


CHAPTERS = ["NAME", "SYNOPSIS", "DESCRIPTION", "ACTIONS", "OPTIONS", "JSON", "EXIT STATUS",
            "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]
NEEDED = {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "JSON", "EXAMPLES", "SEE ALSO"}
WITHOUT_JSON = {"completion", "pause", "resume"}


def command_chapters():
    """The chapters of a command's page are the same everywhere, in this order."""
    for command in OWN_PAGES:
        have = list(sections(command_page(command), "#"))
        if have != [x for x in CHAPTERS if x in have] or not NEEDED <= set(have):
            print("dnnest-%s.1 has the chapters" % command, have)
    for command in sorted(set(command_sections()) - OWN_PAGES):
        have = re.findall(r"^(JSON|Example): |^(Example):$", command_page(command), re.M)
        have = ["".join(x) for x in have]
        if have != ["JSON", "Example"][command in WITHOUT_JSON:]:
            print("dnnest.1,", command, "has the parts", have)


def command_options():
    chapters = sections(page("dnnest.1"), "#")
    common = set(re.findall(r"\*--([a-z-]+)\*", chapters["COMMON OPTIONS"]))
    for line in load("commands.txt").splitlines():
        command = line.split()[0]
        title = "the text of " + command
        help_text = load("help-%s.txt" % command)
        own = command_page(command)
        if command in OWN_PAGES:
            own = sections(own, "#")["OPTIONS"]
        lines = re.findall(r"^(?:\*-\w\*, )?\*--([a-z-]+)\*", own, re.M)
        compare(title, lines, own_options(help_text))
        compare(title, common, re.findall(r"--([a-z-]+)",
                                          help_text.split("\nOptions of all commands")[1]))
        letters = re.findall(r"^\*-(\w)\*, \*--([a-z-]+)\*",
                             own + chapters["COMMON OPTIONS"], re.M)
        for letter in short_options(help_text):
            if letter not in letters:
                print(title, "lacks -%s for --%s" % letter)
        if "*dnnest %s* " % command not in command_page(command):
            print(title, "has no usage")
        if "Manual: dnnest(1)\n" not in help_text:
            print("the help of", command, "does not name dnnest(1)")


def exit_codes():
    chapter = sections(page("dnnest.1"), "#")["EXIT STATUS"]
    codes = re.findall(r"^    DN_EXIT_\w+", source("cli/common.h"), re.M)
    compare("dnnest.1", re.findall(r"^\*(\d)\*$", chapter, re.M),
            [str(i) for i in range(len(codes))])


globals()[check]()
PYTHON
}

spec=$short
dn check --keys --json > "$work/keys.json"
dn config --json > "$work/config.json"
dn predict --json --cpu-curve --gpu t4_16gb "$spec" > "$work/predict.json"
dn predict --json --batch-sizes --gpu t4_16gb "$spec" > "$work/batches.json"
dn explain --json --gpu t4_16gb "$spec" > "$work/explain.json"
dn advise --json --comment="dnnest:$spec" -G a100:1 -t 1-0 > "$work/advise.json"
dn import --json --onnx "$top/tests/data/onnx/small.onnx" --out "$work/small.json" \
    > "$work/import.json"
printf 'spec,gpu,step_ms,peak_mem_gb,group,source\n"%s",t4_16gb,90,4,g,s\nx,y\n' "$spec" \
    > "$work/runs.csv"
dn evaluate --json "$work/runs.csv" > "$work/evaluate.json"
make_bundle "$work/small"
dn train --json --site "$work/runs.csv" --base "$work/small" --out "$work/bundle" \
    > "$work/train.json" 2> "$work/skipped"
dn train --features > "$work/features.txt"
sed 's/^#\([A-Z]\)/\1/' "$top/etc/dnnest.conf" \
    | sed "s|/usr/share/dnnest|$work|" > "$work/sample.conf"
dn config --json --conf "$work/sample.conf" > "$work/sample.json"
head -2 "$work/runs.csv" > "$work/one.csv"
dn model --json show "$work/small" > "$work/show.json"
dn model --json verify "$work/small" > "$work/verify.json"
write_helps ''
write_helps -dev

while read -r fact title; do
    is "$title" "$(facts "$fact" 2>&1)" ''
done <<'END'
spec_page dnnest.spec(5) has every metadata key with its type and range, and no other
spec_groups dnnest.spec(5) has every key in its group
sidecar dnnest.sidecar(5), its schema and the reader have the same keys
record the decision record and log, their schemas and job_submit_dnnest(8) agree
counters job_submit_dnnest(8) has every counter, and no other
conf_page dnnest.conf(5) has every key with its range and default, and no other
guide_keys the settings that the guide for admins names are keys
hardware_page dnnest.hardware(5) has every key of the catalogue, and no other
dev_page dnnest-dev(1) has its commands, options and operators, and no other
conf_order dnnest.conf(5) states which value of every rule is stricter
sample etc/dnnest.conf shows every key at its default, commented out
sample_values etc/dnnest.conf with all lines in force is right and changes nothing
commands every command has a section of dnnest(1) that begins with its summary
command_chapters the pages and sections of commands have the same parts, in one order
command_options the page or section of a command has every option of it, and no other
exit_codes dnnest(1) has every exit code
END
# members COMMAND NAME...: what the page does not name of the documents
members() {
    is "dnnest-$1(1) names every member of the JSON" \
        "$(python3 "$top/tests/cli/members.py" "$top/cli/pages" "$1" "$work" "${@:2}" 2>&1)" ''
}
members predict predict batches
members explain explain
members advise advise
members evaluate evaluate
members import-dev import
members train train
members model show verify

if command -v scdoc >/dev/null; then
    for page in "$top"/cli/pages/*.scd "$top"/dev/*.scd "$top"/plugin/*/*.scd "$top"/daemon/*.scd "$top"/guard/*.scd; do
        ok "${page##*/} is a man page" bash -c "'${DNNEST%/*}/cli/page_rows' < '$page' | scdoc > /dev/null"
    done
else
    skip 'the pages are man pages' 'scdoc is not installed'
fi
is 'no page has a line longer than 88 characters' \
    "$(awk 'length($0) > 88 { print FILENAME ":" FNR }' "$top"/cli/pages/*.scd \
        | grep -v 'spec.5.scd' | sed "s|$top/||")" ''
done_testing
