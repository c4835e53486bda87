#!/usr/bin/env bash
# Several test hosts on one machine. Each has its own network, UTS, IPC, PID and mount namespace, its own /dev/shm and /tmp, an sshd, and one
# NIC (eth0, a veth) into a bridge in a namespace of its own: nothing of it can be reached from outside, nothing inside can reach out.
#
#   hosts.sh check                      says what is missing to make hosts here; code 0 if nothing is
#   hosts.sh up N                       sweeps what an earlier run left, then makes tx1..txN, 198.19.77.1..N
#   hosts.sh exec HOST COMMAND...       runs a command as if at that host's console
#   hosts.sh shape RATE|off             tc tbf at RATE ("1gbit"), burst 1 MB, in both directions of every NIC
#   hosts.sh unplug HOST | plug HOST    takes the cable out of the switch (silence, no error) | puts it back
#   hosts.sh down                       ends every process of the hosts and removes all traces; also after `up` has failed or was killed
#
# TWINAX_HOSTS_NAME=NAME     all hosts believe to be called NAME, as containers of one image do
# TWINAX_HOSTS_SHARE=PATHS   folders under /tmp, with ":" between, that all hosts see; others have a /tmp of their own
# Needs root, iproute2, openssh-server, openssh-client, util-linux.
set -euo pipefail

state=/run/twinax-hosts
prefix=tx
net=198.19.77
switch=twinax-switch
namespace_of() { echo "twinax-$1"; }

die() {
  echo "hosts: $*" >&2
  exit 1
}

check() {
  [[ $(id -u) == 0 ]] || die "needs root"
  local tool
  for tool in ip:iproute2 tc:iproute2 ssh:openssh-client ssh-keygen:openssh-client nsenter:util-linux unshare:util-linux; do
    command -v "${tool%%:*}" >/dev/null || die "needs ${tool%%:*} (package ${tool##*:})"
  done
  [[ -x /usr/sbin/sshd ]] || die "needs sshd (package openssh-server)"
  unshare --net --uts --ipc --mount --pid --fork true 2>/dev/null || die "namespaces are not allowed here"
  ip netns add "$switch-probe" 2>/dev/null || die "network namespaces are not allowed here"
  local can=yes
  ip -n "$switch-probe" link add v0 type veth peer name v1 2>/dev/null && ip -n "$switch-probe" link add b0 type bridge 2>/dev/null || can=no
  ip netns del "$switch-probe"
  [[ $can == yes ]] || die "virtual NICs (veth, bridge) are not allowed here"
}

hosts() { ip netns list 2>/dev/null | awk -v p="twinax-$prefix" 'index($1, p) == 1 { print substr($1, 8) }' | sort -V; }

pid_of() { cat "$state/$1/pid" 2>/dev/null || die "no host $1"; }

down() {
  local name pids try
  for name in $(hosts); do
    for try in 1 2 3 4 5; do # ending a host's first process ends the others, but takes a moment
      pids=$(ip netns pids "$(namespace_of "$name")" 2>/dev/null || true)
      [[ -z $pids ]] && break
      kill -9 $pids 2>/dev/null || true
      sleep 0.1
    done
    ip netns del "$(namespace_of "$name")" 2>/dev/null || true
  done
  ip netns del "$switch" 2>/dev/null || true
  ip netns del "$switch-probe" 2>/dev/null || true
  ip route del unreachable "$net.0/24" 2>/dev/null || true
  rm -rf "$state"
}

write_configs() { # N
  local i
  ssh-keygen -q -t ed25519 -N '' -f "$state/id"
  ssh-keygen -q -t ed25519 -N '' -f "$state/host_key"
  cp "$state/id.pub" "$state/authorized_keys"
  # StrictModes and PAM want a home and a login environment; many sessions open at once when mpirun launches as a tree.
  cat >"$state/sshd_config" <<C
Port 22
HostKey $state/host_key
AuthorizedKeysFile $state/authorized_keys
PidFile none
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
UseDNS no
MaxStartups 100:30:200
MaxSessions 100
C
  cat >"$state/ssh_config" <<C
Host *
  User root
  IdentityFile $state/id
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  BatchMode yes
  ConnectTimeout 5
C
  {
    echo "127.0.0.1 localhost"
    for i in $(seq "$1"); do echo "$net.$i $prefix$i"; done
  } >"$state/hosts"
  for i in $(seq "$1"); do echo "$prefix$i slots=4"; done >"$state/hostfile"
}

# sshd is the host's first process: it reaps, and its end is the host's. --kill-child ties it to the process of unshare.
boot() { # HOST
  setsid ip netns exec "$(namespace_of "$1")" unshare --uts --ipc --mount --pid --fork --kill-child --mount-proc bash -c '
    set -e
    hostname "$2"
    mount -t tmpfs -o mode=1777,size=1g shm /dev/shm
    IFS=:
    fds=()
    for path in $4; do
      exec {fd}<"$path"
      fds+=("$fd:$path")
    done
    mount -t tmpfs -o mode=1777,size=1g tmp /tmp
    for entry in "${fds[@]}"; do
      mkdir -p "${entry#*:}"
      mount --no-canonicalize --bind "/proc/self/fd/${entry%%:*}" "${entry#*:}"
    done
    mkdir -p /run/sshd
    mount --bind "$3/hosts" /etc/hosts
    exec /usr/sbin/sshd -D -e -f "$3/sshd_config"
  ' _ "$1" "${TWINAX_HOSTS_NAME:-$1}" "$state" "$(shared_folders)" >"$state/$1/log" 2>&1 </dev/null &
  local unshared=$! first="" i
  for i in $(seq 100); do
    first=$(cat "/proc/$unshared/task/$unshared/children" 2>/dev/null || true)
    first=${first// /}
    [[ -n $first && $(cat "/proc/$first/comm" 2>/dev/null) == sshd ]] && break
    kill -0 "$unshared" 2>/dev/null || die "$1 did not boot: $(cat "$state/$1/log")"
    sleep 0.05
  done
  echo "$first" >"$state/$1/pid"
}

shared_folders() {
  local path out=""
  local IFS=:
  for path in ${TWINAX_HOSTS_SHARE:-}; do
    [[ $path == /tmp/* && -d $path ]] && out+="${out:+:}$path"
  done
  echo "$out"
}

enter() { # HOST COMMAND...
  local pid
  pid=$(pid_of "$1")
  shift
  nsenter -t "$pid" -n -u -m -i -p -- env -C "$PWD" "$@"
}

up() { # N
  local i host
  check
  down
  mkdir -p "$state"
  write_configs "$1"
  # A client started outside by mistake fails at once: its packets for the hosts would leave by the real NIC otherwise.
  ip route replace unreachable "$net.0/24"
  ip netns add "$switch"
  ip -n "$switch" link add br0 type bridge
  ip -n "$switch" link set br0 up
  for i in $(seq "$1"); do
    host=$prefix$i
    mkdir -p "$state/$host"
    ip netns add "$(namespace_of "$host")"
    ip -n "$(namespace_of "$host")" link set lo up
    ip -n "$switch" link add "p$i" type veth peer name eth0 netns "$(namespace_of "$host")"
    ip -n "$switch" link set "p$i" master br0 up
    ip -n "$(namespace_of "$host")" addr add "$net.$i/24" dev eth0
    ip -n "$(namespace_of "$host")" link set eth0 up
    # The same on every machine: BBR, where it is the default, slows down now and then to measure.
    ip netns exec "$(namespace_of "$host")" sysctl -qw net.ipv4.tcp_congestion_control=reno 2>/dev/null || true
    boot "$host"
  done
  for i in $(seq "$1"); do
    for _ in $(seq 50); do
      enter "${prefix}1" ssh -F "$state/ssh_config" "$prefix$i" true 2>/dev/null && continue 2
      sleep 0.1
    done
    die "ssh to $prefix$i failed: $(tail -3 "$state/$prefix$i/log")"
  done
}

shape() { # RATE|off
  local host i
  for host in $(hosts); do
    i=${host#"$prefix"}
    if [[ $1 == off ]]; then
      tc -n "$(namespace_of "$host")" qdisc del dev eth0 root 2>/dev/null || true
      tc -n "$switch" qdisc del dev "p$i" root 2>/dev/null || true
    else # below a burst of 1 MB the kernel misses the rate
      tc -n "$(namespace_of "$host")" qdisc replace dev eth0 root tbf rate "$1" burst 1mb latency 20ms
      tc -n "$switch" qdisc replace dev "p$i" root tbf rate "$1" burst 1mb latency 20ms
    fi
  done
}

case ${1:-} in
  check) check ;;
  up)
    count=${2:?number of hosts}
    trap 'code=$?; trap - EXIT; ((code == 0)) || down; exit "$code"' EXIT
    trap 'exit 130' INT TERM
    up "$count"
    ;;
  exec)
    shift
    enter "$@"
    ;;
  shape) shape "${2:?rate or off}" ;;
  unplug) ip -n "$switch" link set "p${2#"$prefix"}" down ;;
  plug) ip -n "$switch" link set "p${2#"$prefix"}" up ;;
  down) down ;;
  *)
    sed -n '2,16p' "$0"
    exit 2
    ;;
esac
