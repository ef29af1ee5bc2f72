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

# Completes a program behind the options $1, as usiw run, doctor and check have
# it.
_usiw_command() {
	local word=${COMP_WORDS[COMP_CWORD]} i=2

	while ((i < COMP_CWORD)); do
		case ${COMP_WORDS[i]} in
		--persona)
			if ((i + 1 == COMP_CWORD)); then
				_usiw_words "rnic ca" "$word"
				return
			fi
			((i += 2)) ;;
		--fault)
			if ((i + 1 == COMP_CWORD)); then
				_usiw_words "cm=reject cm=unreachable \
cq=overrun datagram=lost device=fatal message=bad-crc message=changed \
port=down receive=rnr signal=KILL state=error stream=delay stream=half-close \
stream=reset stream=silent stream=stall terminate=forged terminate=lost" \
					"$word"
				return
			fi
			((i += 2)) ;;
		--chaos)
			((i + 1 == COMP_CWORD)) && return
			((i += 2)) ;;
		--error-exitcode)
			((i + 1 == COMP_CWORD)) && return
			((i += 2)) ;;
		--suppressions)
			if ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -f -- "$word")
				return
			fi
			((i += 2)) ;;
		--)
			_usiw_program $((i + 1))
			return ;;
		-*)
			((i += 1)) ;;
		*)
			_usiw_program "$i"
			return ;;
		esac
	done
	if [[ $word == -* ]]; then
		_usiw_words "$1 --persona --sdp --help --" "$word"
	else
		_usiw_program "$i"
	fi
}

_usiw_stat() {
	local word=${COMP_WORDS[COMP_CWORD]}

	case ${COMP_WORDS[COMP_CWORD-1]} in
	--state)
		_usiw_words "idle connecting rts closing terminate error \
			bound listening request established disconnected" \
			"$word"
		return ;;
	--device | --qp | --peer)
		return ;;
	esac
	if [[ $word == -* ]]; then
		_usiw_words "--devices --contexts --pds --cqs --srqs --qps \
			--mrs --conns --sdp --counters --device --qp --peer \
			--state --json --watch --help" "$word"
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

# Of capture and trace, with the options $1.
_usiw_observe() {
	local word=${COMP_WORDS[COMP_CWORD]} i=2

	while ((i < COMP_CWORD)); do
		case ${COMP_WORDS[i]} in
		-[cC])
			if [[ ${COMP_WORDS[1]} == trace ]]; then
				((i += 1))
				continue
			fi
			((i + 1 == COMP_CWORD)) && return
			((i += 2)) ;;
		--persona | -[owsabBpe] | --qp | --peer | --port)
			if ((i + 1 == COMP_CWORD)); then
				_usiw_observe_value "${COMP_WORDS[i]}" "$word"
				return
			fi
			((i += 2)) ;;
		--)
			_usiw_program $((i + 1))
			return ;;
		-*)
			((i += 1)) ;;
		*)
			_usiw_program "$i"
			return ;;
		esac
	done
	if [[ $word == -* ]]; then
		_usiw_words "$1 --persona --sdp --help --" "$word"
	else
		_usiw_program "$i"
	fi
}

# Completes the value $2 of the option $1.
_usiw_observe_value() {
	case $1 in
	--persona)
		_usiw_words "rnic ca" "$2" ;;
	-[ow])
		mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	-[ab])
		_usiw_words "duration: filesize: packets: files:" "$2" ;;
	-e)
		_usiw_words "verbs cm completions events" "$2" ;;
	-p)
		_usiw_words "$(cd /proc && echo [1-9]*)" "$2" ;;
	esac
}

_usiw() {
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_usiw_words "run devices check doctor stat top trace capture --help --version" \
			"${COMP_WORDS[1]}"
	elif [[ ${COMP_WORDS[1]} == capture ]]; then
		_usiw_observe "-o -w -s -c -a -b -B -p --qp --peer --port"
	elif [[ ${COMP_WORDS[1]} == trace ]]; then
		_usiw_observe "-c -C -e -o -p"
	elif [[ ${COMP_WORDS[1]} == run ]]; then
		_usiw_command "--fault --chaos"
	elif [[ ${COMP_WORDS[1]} == doctor ]]; then
		_usiw_command "--quiet --json"
	elif [[ ${COMP_WORDS[1]} == stat ]]; then
		_usiw_stat
	elif [[ ${COMP_WORDS[1]} == top ]]; then
		_usiw_words "--delay --help" "${COMP_WORDS[COMP_CWORD]}"
	elif [[ ${COMP_WORDS[1]} == check ]]; then
		_usiw_command "--json --error-exitcode --suppressions"
	fi
}

complete -F _usiw usiw
