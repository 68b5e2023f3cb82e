# shellcheck shell=bash
printf '\nGeneration=zenith\nNumber=9\nFlashAttention=1\nNewHost=1\n' >> etc/hardware/generations.conf
