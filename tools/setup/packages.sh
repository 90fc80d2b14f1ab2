# shellcheck shell=bash
# Debian packages by the groups of packages.txt. Sourced by dev.

packages_file=tools/setup/packages.txt
state_dir=.deps/setup

# Prints "package version" for each row of a group; the version may be missing.
packages_of() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  awk -v group="$1" -v exact="$1:$codename" '
    $1 == group { general = general $2 " " $3 "\n" }
    $1 == exact { special = special $2 " " $3 "\n" }
    END { printf "%s", special ? special : general }' "$packages_file"
}

is_installed() {  # package [least version]
  local row
  row=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$1" 2>/dev/null) || return 1
  [[ $row == "installed "* ]] || return 1
  [[ -z ${2:-} ]] || dpkg --compare-versions "${row#installed }" ge "$2"
}

missing_of() {  # group
  local name version
  while read -r name version; do
    is_installed "$name" "$version" || echo "$name"
  done < <(packages_of "$1")
}

# The version apt would install, or nothing.
candidate_of() {
  apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

can_be_root() {
  [[ $(id -u) == 0 ]] || { command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; }
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 \
    -o Acquire::Retries=3 "$@"
}

# Fresh package lists, once a run. A source that does not answer is no reason to stop: the install decides.
update_lists() {
  [[ -z ${lists_are_fresh:-} ]] || return 0
  lists_are_fresh=yes
  mkdir -p "$state_dir"
  with_heartbeat apt_get update >"$state_dir/apt-update.log" || true
}

# What the set-up will still need besides a group: so that who installs by hand does it once.
missing_of_all() {  # group
  missing_of "$1"
  [[ $1 != build ]] || has_xnnpack || missing_of "$(xnnpack_group)"
}

install_group() {
  local missing
  missing=$(missing_of "$1" | paste -sd ' ')
  [[ -n $missing ]] || return 0
  command -v apt-get >/dev/null || die "This set-up is for Debian 12 and later, and there is no apt-get here."
  can_be_root || die "Packages are missing, and this is neither root nor has sudo. Run once as root:" \
    "  apt-get install --no-install-recommends $(missing_of_all "$1" | sort -u | paste -sd ' ')"

  say "Installing $missing"
  update_lists
  # shellcheck disable=SC2086  # a list of words
  if ! with_heartbeat apt_get install -y --no-install-recommends $missing >"$state_dir/apt-install.log"; then
    tail -n 20 "$state_dir/apt-update.log" "$state_dir/apt-install.log" >&2
    die "apt-get could not install them; its log is above and in $state_dir/apt-install.log"
  fi
}
