# What Tab completes after `pergola` in bash: commands, models and analyses, options, keys of --set, files. It asks the program's own help, so that it
# knows what the program knows. Installed as share/bash-completion/completions/pergola; by hand:  source scripts/completion.bash

_pergola_subcommands() { # of a help text; some have two names: "profile, profiles"
  sed -n '/^Subcommands:/,/^$/s/^  \([a-z0-9][a-z0-9-]*\(, [a-z0-9-]*\)*\) .*/\1/p' <<<"$1" | tr -s ', ' '\n'
}

_pergola_options() { # of a help text: the words before the explanation, and those of the line "Also --n, --seed, …"
  sed -n 's/^  \(-[^ ]*\).*/\1/p; s/^Also \(.*\): see .*/\1/p' <<<"$1" | tr ', ' '\n\n' | grep '^-'
}

_pergola_keys() { # of the configuration that the words name, as TABLE.KEY=
  local word
  for word in "${COMP_WORDS[@]}"; do
    if [[ $word == *.toml && -r $word ]]; then
      "${COMP_WORDS[0]}" run "$word" --print-config 2>/dev/null |
        sed -n 's/^\[\([a-z_.]*\)\].*/[\1/p; s/^\([a-z_0-9]*\) = .*/\1/p' |
        awk '/^\[/ { table = substr($0, 2) "."; next } { print table $0 "=" }'
      return
    fi
  done
}

_pergola() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path=() help word
  help=$("${COMP_WORDS[0]}" --help 2>/dev/null) || return
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if grep -qxF -- "$word" <<<"$(_pergola_subcommands "$help")"; then
      path+=("$word")
      help=$("${COMP_WORDS[0]}" "${path[@]}" --help 2>/dev/null) || return
    fi
  done
  local choices=
  case $before in
    --device) choices="auto cpu cuda" ;;
    --set) choices=$(_pergola_keys) && compopt -o nospace 2>/dev/null ;;
    *)
      if [[ $current == -* ]]; then
        choices="$(_pergola_options "$help") --device --threads --json --quiet --help"
      else
        choices=$(_pergola_subcommands "$help")
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current" | sort -u)
}

complete -o default -F _pergola pergola # where nothing fits: files
