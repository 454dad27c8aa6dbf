# Completion of `git boocode …` and `git-boocode …` in fish. It is loaded where it lies in a directory
# of $fish_complete_path; else put this into ~/.config/fish/config.fish:
#   git boocode completion fish | source

# What there is for the word at the cursor; the arguments are the command that asks for it, but
# for that word.
function __git_boocode_offer
    set -l typed (commandline -ct)
    for line in ($argv "$typed" 2>/dev/null)
        if test "$line" = \t
            __fish_complete_path "$typed"
        else
            echo $line
        end
    end
end

function __git_boocode_alone
    set -l words (commandline -opc)
    __git_boocode_offer git-boocode completion --candidates $words[2..]
end

# Newer versions of fish complete `git boocode` by themselves as they complete `git-boocode`.
function __git_boocode_is_ours
    if not set -q __git_boocode_passed_on
        complete -c git | string match -q '*_custom_command boocode*'
        set -g __git_boocode_passed_on $status
    end
    test $__git_boocode_passed_on -ne 0
    and functions -q __fish_git_using_command
    and __fish_git_using_command boocode
end

function __git_boocode_after_git
    set -l words (commandline -opc)
    argparse -s (__fish_git_global_optspecs) -- $words[2..] 2>/dev/null
    or return
    set -l where
    for directory in $_flag_C
        set -a where -C $directory
    end
    __git_boocode_offer git $where boocode completion --candidates $argv[2..]
end

complete -c git-boocode -f -k -a '(__git_boocode_alone)'
complete -c git -n __git_boocode_is_ours -f -k -a '(__git_boocode_after_git)'
