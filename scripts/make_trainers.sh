#!/bin/sh
# Puts trainers under .venv/opt/, a folder each, for the tests of their hooks: in one environment they would not go
# together, and would change what it has.
# In: .venv/. Out: .venv/opt/<trainer>/, .venv/opt/shared/ (what they import and .venv lacks). Needs the network.
set -eu

# NAME REQUIREMENT...: a folder with these and nothing that they depend on, made again when the list has changed.
folder() {
  name=$1
  shift
  [ "$(cat ".venv/opt/$name/.requirements" 2>/dev/null)" = "$*" ] && return
  rm -rf ".venv/opt/$name"
  .venv/bin/python -m pip install --quiet --no-deps --no-compile --target ".venv/opt/$name" "$@"
  # Of ray, which is the most of it, only what importing it needs is worth compiling ahead.
  .venv/bin/python -m compileall -q -x 'ray/(rllib|dashboard|data|train|tune|serve|llm|autoscaler|air)/' ".venv/opt/$name"
  echo "$*" >".venv/opt/$name/.requirements"
}

folder shared \
  accelerate==1.15.0 antlr4-python3-runtime==4.9.3 codetiming==1.4.0 hydra-core==1.3.8 msgpack==1.2.4 \
  omegaconf==2.4.0 orjson==3.13.0 peft==0.21.2 pyvers==0.2.3 ray==2.60.0 tensordict==0.15.3 torchdata==0.11.0
folder verl-0.7.1 verl==0.7.1
folder verl-0.9.1 verl==0.9.1
folder openrlhf-0.11.2 openrlhf==0.11.2 pylatexenc==2.11
folder skyrl-0.3.0 skyrl==0.3.0
