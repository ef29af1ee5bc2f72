# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
# Completion of usiw(1) in bash.

_usiw_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Completes the words after usiw run, as if they were a separate command line.
_usiw_program() {
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [[ $1 == "$COMP_CWORD" ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[$1]}")
	else
		mapfile -t COMPREPLY < <(compgen -f -- \
			"${COMP_WORDS[COMP_CWORD]}")
	fi
}

_usiw_run() {
	local word=${COMP_WORDS[COMP_CWORD]} i=2

	while ((i < COMP_CWORD)); do
		case ${COMP_WORDS[i]} in
		--persona)
			if ((i + 1 == COMP_CWORD)); then
				_usiw_words "rnic ca" "$word"
				return
			fi
			((i += 2)) ;;
		--sdp)
			((i += 1)) ;;
		--)
			_usiw_program $((i + 1))
			return ;;
		*)
			_usiw_program "$i"
			return ;;
		esac
	done
	if [[ $word == -* ]]; then
		_usiw_words "--persona --sdp --help --" "$word"
	else
		_usiw_program "$i"
	fi
}

_usiw() {
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_usiw_words "run devices --help --version" "${COMP_WORDS[1]}"
	elif [[ ${COMP_WORDS[1]} == run ]]; then
		_usiw_run
	fi
}

complete -F _usiw usiw
