# Completion of `git boocode …` in bash, beside git's own completion, which loads this file when it
# lies as `git-boocode` in a bash-completion directory. To load it by hand: source it.

_git_boocode ()
{
	local at=${__git_cmd_idx:-1} kind value
	COMPREPLY=()
	while IFS=, read -r kind value; do
		case $kind in
			plain) COMPREPLY+=("$value") ;;
			*) compopt -o default 2>/dev/null ;;
		esac
	done < <(
		COMP_WORDS="git-boocode ${words[*]:at + 1}" COMP_CWORD=$((cword - at)) \
			_GIT_BOOCODE_COMPLETE=bash_complete git-boocode 2>/dev/null
	)
}
