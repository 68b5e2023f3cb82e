# shellcheck shell=bash
sed 's/"squeezenet1_0"/"squeezenet1_9"/' etc/zoo/squeezenet1_0.json > etc/zoo/squeezenet1_9.json
