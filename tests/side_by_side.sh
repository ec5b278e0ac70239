#!/bin/sh
# All tests, in two halves at once: those of the stores, and the others. Most of their time is spent waiting.
# usage: side_by_side.sh FOLDER-OF-PROGRAMS
bin=$1
stores="tests/contract tests/store tests/postgres"
log=$(mktemp)
"$bin/coverage" run -p -m pytest $stores >"$log" 2>&1 &
first=$!
trap 'kill -INT $first 2>/dev/null; wait $first; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

others=""
for folder in $stores; do others="$others --ignore=$folder"; done
"$bin/coverage" run -p -m pytest $others
second_code=$?
wait $first
first_code=$?
cat "$log"
[ $first_code -eq 0 ] && [ $second_code -eq 0 ]
