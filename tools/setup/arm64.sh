# shellcheck shell=bash disable=SC2154
# What cmake/arm64.cmake builds with on another machine: a compiler, qemu, and in .deps/arm64 the libraries of this release
# of Debian for arm64 and a current XNNPACK. Sourced by dev.

arm64_folder=.deps/arm64

arm64_stamp() {
  cat "$packages_file" tools/setup/{arm64.sh,unpack,unpack_xnnpack,retarget_version_need.cc} /etc/os-release | sha256sum
}

setup_arm64() {
  install_group arm64
  [[ "$(cat "$arm64_folder/stamp" 2>/dev/null)" != "$(arm64_stamp)" ]] || return 0
  [[ -n $(debian_mirror) ]] || update_lists
  [[ -n $(debian_mirror) ]] || die "None of this machine's apt sources is Debian's archive; the libraries for arm64 come from there."
  say "Unpacking libraries for arm64 into $arm64_folder"
  local log=$state_dir/arm64.log group libraries prefix release
  group=$(xnnpack_group)
  libraries=$({ packages_of build; [[ $group != xnnpack ]] || packages_of xnnpack; } | awk '$1 ~ /-dev$/ { print $1 }')
  prefix=$(packages_of prefix)
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf "$arm64_folder"
  mkdir -p "$state_dir" "$arm64_folder"
  # shellcheck disable=SC2086  # lists of words
  if ! with_heartbeat tools/setup/unpack --with-dependencies "$arm64_folder/sysroot" arm64 "$release" "$(debian_mirror)" $libraries >"$log" ||
    { [[ $group == unpack ]] &&
      ! with_heartbeat tools/setup/unpack_xnnpack "$arm64_folder/xnnpack" arm64 "$(debian_mirror)" $prefix >>"$log"; }; then
    tail -n 20 "$log" >&2
    die "Could not unpack the libraries for arm64; the whole log: $log"
  fi
  arm64_stamp >"$arm64_folder/stamp"
}
