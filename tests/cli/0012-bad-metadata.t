#!/bin/bash
# 0012-bad-metadata.t - every wrong input has a message with the value and what was expected
#
# tests/unit/text.c has the forms of numbers, tests/unit/spec.c the words.
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"

bad() { refuses "$1" 2 "$2" predict "$3"; }

ok=model=resnet50,batch=8
bad 'an unknown key is named' "column 18: unknown key 'bacth', did you mean 'batch'\\? expected key=value .*--keys" \
    'model=resnet50,  bacth=4'
bad 'an unknown model is named' "model: 'resnet5'.*resnet50" 'model=resnet5,batch=8'
bad 'a model that resembles none is named' "model: 'qqqqqq'" 'model=qqqqqq,batch=8'
bad 'a missing model is named' 'model: missing, expected model=NAME' 'batch=8'
refuses 'a missing batch is named' 2 'batch: missing, expected batch=N' check model=resnet50
bad 'an unknown data set is named' "dataset: 'imagent' .*expected" $ok,epochs=9,dataset=imagent
bad 'an unknown word of an enum is named with the known words' \
    "precision: 'fp17' is unknown, expected one of fp32 tf32 fp16 .*did you mean fp16\\?" \
    $ok,precision=fp17
bad 'an empty text misses the model' 'model: missing' ''

bad 'a value that is no whole number is named' "batch: '4.5' is not a whole number, expected 1\.\." \
    model=resnet50,batch=4.5
bad 'a value out of range is named' 'batch: 0 out of range 1\.\.' model=resnet50,batch=0
for value in 1e400 NaN inf ''; do
    bad "epochs='$value' is no number" "epochs: ('.*' is not a number, expected 0.001|no value)" \
        "$ok,epochs=$value"
done
for value in -1 0 1e30; do
    bad "epochs=$value is out of range" 'epochs: .* out of range 0\.001\.\.' "$ok,epochs=$value"
done
for value in 1x2x3x4 224x 0 x 1e9 -224; do
    bad "image=$value is refused" 'image: ' "$ok,image=$value"
done
for value in never 1:2:3:4 -5 0:05 9999-0; do
    bad "deadline=$value is refused" 'deadline: .*expected' "$ok,deadline=$value"
done

bad 'a long value is cut in its message' "model: 'a{40}\.\.\.' is longer than 63 characters" \
    "batch=8,model=$(head -c 300 /dev/zero | tr '\0' a)"
bad 'a control character is shown as ?' "model: 'resnet\?\[31m' is not a name" \
    $'batch=8,model=resnet\x1b[31m'
bad 'a newline within a value is shown as ?' "model: 'a\?b' is not a name" $'batch=8,model=a\nb'
bad 'truncated UTF-8 is shown as ?' "model: 'r\?' is not a name" $'batch=8,model=r\xc3'
bad 'truncated UTF-8 in a key is shown as ?' "unknown key 'mod\?\?'" $'mod\xe2\x82=x'
bad 'a byte that no text has is shown as ?' "dataset: '\?' is not a name" $ok,dataset=$'\xff'
bad 'a quote cannot break out of the message' "model: 'a\?b' is not a name" "batch=8,model=a'b"
bad 'an absurd network is refused by a limit' '(layers|experts|hidden)' \
    'model=transformer,layers=99999,hidden=1M,heads=4,seq_len=128,batch=8'

bad 'a word that is no network is named' "model: 'resnet5'.*resnet50" resnet5,batch=8

# For any input the program exits normally. With an x before it it is no file (@).
for i in $(seq 1 40); do
    text=$(head -c $((i * 7)) /dev/urandom | tr -d '\0')
    try predict "x${text}"
    ((code == 2)) || break
done
is 'forty random texts are refused with exit code 2' "$code" 2
done_testing
