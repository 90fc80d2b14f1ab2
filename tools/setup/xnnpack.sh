# shellcheck shell=bash disable=SC2154
# A current XNNPACK: the distribution's, or else Debian 13's in a private prefix. Sourced by dev.

xnnpack_prefix=.deps/xnnpack

# True where a current XNNPACK is in place and made by the set-up files as they are now.
has_xnnpack() {
  [[ -z $(missing_of xnnpack) ]] || [[ "$(cat "$xnnpack_prefix/stamp" 2>/dev/null)" == "$(xnnpack_stamp)" ]]
}

xnnpack_stamp() {
  cat "$packages_file" tools/setup/{xnnpack.sh,unpack,unpack_xnnpack,retarget_version_need.cc} /etc/os-release | sha256sum
}

# The group of packages that XNNPACK comes with here: the distribution's own, or what unpacks a newer one.
xnnpack_group() {
  local least offered
  least=$(packages_of xnnpack | awk '$1 == "libxnnpack-dev" { print $2 }')
  offered=$(candidate_of libxnnpack-dev)
  if [[ -n $offered ]] && dpkg --compare-versions "$offered" ge "$least"; then echo xnnpack; else echo unpack; fi
}

setup_xnnpack() {
  ! has_xnnpack || return 0
  [[ -n $(candidate_of libxnnpack-dev) ]] || update_lists
  install_group "$(xnnpack_group)"
  [[ $(xnnpack_group) == unpack ]] || return 0
  [[ -n $(debian_mirror) ]] || update_lists
  [[ -n $(debian_mirror) ]] || die "None of this machine's apt sources is Debian's archive; XNNPACK comes from there."
  say "Unpacking Debian 13's XNNPACK into $xnnpack_prefix (this release has none that is new enough)"
  local log=$state_dir/xnnpack.log packages
  mkdir -p "$state_dir"
  packages=$(packages_of prefix)
  # shellcheck disable=SC2086  # a list of words
  if ! with_heartbeat tools/setup/unpack_xnnpack "$xnnpack_prefix.new" "$(dpkg --print-architecture)" "$(debian_mirror)" $packages >"$log"; then
    tail -n 20 "$log" >&2
    die "Could not unpack XNNPACK; the whole log: $log"
  fi
  xnnpack_stamp >"$xnnpack_prefix.new/stamp"
  rm -rf "$xnnpack_prefix"
  mv "$xnnpack_prefix.new" "$xnnpack_prefix"
}

# The address of Debian's archive as this machine's own apt sources have it, in whatever form they are written.
debian_mirror() {
  # shellcheck disable=SC2016  # apt's variables, not ours
  apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" && $2 !~ /[-\/]/ && !found { print $3; found = 1 }'
}
