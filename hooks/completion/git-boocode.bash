# Completion of `git boocode …` and `git-boocode …` in bash, also in bash 3.2, which macOS has.
# bash-completion loads this file where it lies as `git-boocode` in one of its directories; else
# put this into ~/.bashrc:  eval "$(git boocode completion bash)"
#
# `git boocode` is completed by git's own completion, which calls `_git_boocode`.

# Read the line up to the cursor from the pieces that are given, which bash has also parted at `@`,
# `=` and `:`: into `__boocode_words`, without the first $1 words.
__git_boocode_read_words ()
{
	local skipped=$1 rest=${COMP_LINE:0:COMP_POINT} count=-1 piece blank
	shift
	__boocode_words=()
	for piece; do
		blank=${rest%%[![:space:]]*}
		rest=${rest#"$blank"}
		if [ "$count" -lt 0 ] || [ -n "$blank" ]; then
			count=$((count + 1))
			[ "$count" -lt "$skipped" ] || __boocode_words[count - skipped]=
		fi
		[ "${rest#"$piece"}" != "$rest" ] || piece=${rest%%[[:space:]]*}
		rest=${rest#"$piece"}
		[ "$count" -lt "$skipped" ] || __boocode_words[count - skipped]+=$piece
	done
}

# Offer what there is for the last of `__boocode_words`; the arguments are options of git.
__git_boocode_offer ()
{
	local at=$((${#__boocode_words[@]} - 1)) head= word text offered=() shown=() width=0
	# Bash replaces only what stands behind these.
	for text in = :; do
		case ${__boocode_words[at]#"$head"},$COMP_WORDBREAKS in
			*"$text"*,*"$text"*) head=${__boocode_words[at]%"${__boocode_words[at]##*"$text"}"} ;;
		esac
	done
	COMPREPLY=()
	while IFS=$'\t' read -r word text; do
		if [ -n "$word" ]; then
			word=${word#"$head"}
			offered+=("$word")
			shown+=("$text")
			[ "${#word}" -le "$width" ] || width=${#word}
		elif [ ${#offered[@]} -eq 0 ]; then
			# Nothing is offered, so that bash itself completes paths.
			compopt -o filenames +o nospace 2>/dev/null
			return
		fi
	done < <(git "$@" boocode completion --candidates "${__boocode_words[@]}" 2>/dev/null)
	if [ ${#offered[@]} -eq 1 ]; then
		COMPREPLY=("$offered ")
		# The files of a directory are offered next.
		[ "${offered%/}" = "$offered" ] || COMPREPLY=("$offered")
	else
		for ((at = 0; at < ${#offered[@]}; at++)); do
			word=${offered[at]} text=${shown[at]}
			# Descriptions, where bash only lists; they must not get into the command line.
			case ${COMP_TYPE-} in
				9 | 63 | 33 | 64)
					[ -z "$text" ] || printf -v word "%-${width}s  %s" "$word" "$text"
					[ -z "${COLUMNS-}" ] || word=${word:0:COLUMNS - 1} ;;
			esac
			COMPREPLY+=("$word")
		done
	fi
}

_git_boocode ()
{
	local __boocode_words
	__git_boocode_read_words "$((${__git_cmd_idx:-1} + 1))" "${words[@]:0:cword + 1}"
	__git_boocode_offer ${__git_C_args:+"${__git_C_args[@]}"}
}

__git_boocode_alone ()
{
	local __boocode_words
	__git_boocode_read_words 1 "${COMP_WORDS[@]:0:COMP_CWORD + 1}"
	__git_boocode_offer
}

complete -o bashdefault -o default -o nospace -F __git_boocode_alone git-boocode
