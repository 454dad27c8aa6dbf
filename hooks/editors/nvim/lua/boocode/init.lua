-- A client of git-boocode for Neovim 0.7 or newer; `:help boocode` describes it.

local accepted = require("boocode.accepted")
local proposal = require("boocode.proposal")
local server = require("boocode.server")
local steps = require("boocode.steps")
local task = require("boocode.task")
local turns = require("boocode.turns")
local worktree = require("boocode.worktree")

local M = { wait = task.wait }

-- `refused` is the answer to the edits that were refused last.
setmetatable(M, {
  __index = function(_, name)
    return name == "refused" and worktree.refused or nil
  end,
})

-- The arguments of tools that options of the commands stand for.
local OPTIONS = {
  ["-n"] = "dry_run",
  ["--dry-run"] = "dry_run",
  ["--files-only"] = "files_only",
  ["--force"] = "force",
  ["--markers"] = "markers",
  ["--merge"] = "merge",
  ["--overwrite"] = "overwrite",
}
local OPTIONS_OF = {
  accept = { "-n", "--dry-run", "--force", "--markers", "--merge", "--overwrite" },
  discard = { "--force" },
  restore = { "--files-only" },
}
local SIDES = { ["--before"] = { "before" }, ["--after"] = { "after" } }
local NAMED_FILES = 3
local MORE_FILES = " and %d more; :BoocodeList lists them"
local BOTH_SIDES = { "before", "after" }

-- The checkpoint of the turn that `:BoocodeAsk` began, by the top of its worktree.
local asked = {}

turns.refresh = proposal.refresh

server.on_change = task.command(function(top)
  proposal.refresh({ top = top })
end)

-- An action as a command, which gets the place of the cursor first, as it is now.
local function at_cursor(action)
  local act = task.command(function(here, ...)
    local succeeded, problem = pcall(action, here, ...)
    worktree.leave(here)
    if not succeeded then
      error(problem, 0)
    end
  end)
  return function(...)
    act(worktree.here(), ...)
  end
end

local function notice(text)
  vim.notify("boocode: " .. text)
end

local function named(files)
  return #files == 1 and files[1].path or #files .. " files"
end

-- The arguments of a tool that options of a command stand for.
local function options_of(tool, options)
  local arguments = {}
  for _, option in ipairs(options) do
    if not vim.tbl_contains(OPTIONS_OF[tool], option) then
      error("unknown option '" .. option .. "'", 0)
    end
    arguments[OPTIONS[option]] = true
  end
  return arguments
end

-- The worktree of a place, and the path of its file, which it has to have.
local function file_at(here)
  local tree, path = worktree.of(here)
  if not path then
    error("this buffer is not a file of " .. tree.top, 0)
  end
  return tree, path
end

-- Carry out a decision, and say so. The signs are shown anew in any case.
local function decide(tree, tool, arguments, what)
  local succeeded, answer, filled
  if tool == "accept" and not arguments.dry_run then
    succeeded, answer, filled = pcall(worktree.change, tree, tool, arguments)
  else
    local given = vim.tbl_extend("force", arguments, { buffers = worktree.unsaved(tree) })
    succeeded, answer = pcall(worktree.ask, tree, tool, given)
  end
  if succeeded and filled then
    accepted.remember(tree, answer, filled, what or named(answer.files))
  end
  -- Without a proposal, there are no signs to show.
  pcall(proposal.refresh, tree)
  if not succeeded then
    error(answer, 0)
  end
  if arguments.dry_run then
    notice("would " .. tool .. " " .. named(answer.files))
  else
    notice(tool .. "ed " .. (what or named(answer.files)))
  end
end

-- What the user sees of a file; what is seen for the first time has to be looked at.
local function seen(tree, here, of_hunk)
  local preview = proposal.shown(here.buffer)
  if preview then
    return preview
  end
  proposal.refresh(tree)
  preview = proposal.shown(here.buffer)
  if preview and of_hunk then
    error("look at the signs first, then run the command again", 0)
  end
  return preview
end

-- Accept or discard the file of a place, or its hunk there.
local function decision(tool, of_hunk)
  return at_cursor(function(here, command)
    local arguments = options_of(tool, (command or {}).fargs or {})
    local tree, path = file_at(here)
    local preview = seen(tree, here, of_hunk)
    local hunk = of_hunk and proposal.hunk_at(here) or nil
    if of_hunk and not hunk then
      error("nothing is proposed for line " .. (here.in_output or worktree.line_of(here)), 0)
    end
    local is_removed = preview and preview.status:find("[DR]")
    if tool == "accept" and vim.bo[here.buffer].modified and is_removed then
      error("write the buffer first: it is to be deleted or renamed", 0)
    end
    arguments.paths = { path }
    arguments.hunk = hunk and { hunk }
    arguments.expect = preview and preview.proposal
    steps.run(tool, arguments, function(given)
      decide(tree, tool, given, hunk and "a hunk of " .. path)
    end)
  end)
end

M.accept = decision("accept", false)
M.accept_hunk = decision("accept", true)
M.discard = decision("discard", false)
M.discard_hunk = decision("discard", true)

-- Accept or discard all that is proposed.
local function decision_on_all(tool)
  return at_cursor(function(here, command)
    local arguments = options_of(tool, (command or {}).fargs or {})
    local tree = worktree.of(here)
    local seen_id = proposal.latest(tree)
    local files, id = proposal.refresh(tree)
    local buffers = worktree.buffers(tree)
    for _, file in ipairs(files) do
      local buffer = buffers[file.path]
      local is_removed = buffer and file.status:find("[DR]")
      if tool == "accept" and is_removed and vim.bo[buffer].modified then
        error("write the buffer first: " .. file.path .. " is to be deleted or renamed", 0)
      end
    end
    arguments.expect = seen_id or id
    steps.run(tool, arguments, function(given)
      decide(tree, tool, given)
    end)
  end)
end

M.accept_all = decision_on_all("accept")
M.discard_all = decision_on_all("discard")

-- Show a sign at each line of the buffers that the proposal changes.
M.signs = at_cursor(function(here)
  local tree = file_at(here)
  proposal.refresh(tree)
end)

-- List what is proposed, hunk by hunk, in the quickfix list.
M.list = at_cursor(function(here)
  local tree = worktree.of(here)
  proposal.list(tree)
end)

local function jump(forwards)
  return task.command(function(command)
    local count = (command or {}).count or 0
    proposal.jump(forwards, math.max(count, vim.v.count1))
  end)
end

M.next_hunk = jump(true)
M.previous_hunk = jump(false)

local function lines_of(edits)
  if type(edits) == "table" then
    return edits
  end
  return vim.fn.readfile(vim.fn.fnamemodify(edits, ":p"), "b")
end

-- Propose the edits in a file, or in a list of lines; `retry_of` is the id of a refused proposal.
-- A turn that `:BoocodeAsk` began ends, because this is the answer.
M.propose = at_cursor(function(here, edits, retry_of)
  local lines = lines_of(edits)
  local tree = worktree.of(here)
  local answer = worktree.ask(tree, "propose", {
    input = table.concat(lines, "\n"),
    retry_of = retry_of or nil,
    buffers = worktree.unsaved(tree),
  })
  if asked[tree.top] then
    asked[tree.top] = nil
    pcall(worktree.ask, tree, "turn", { action = "end" })
  end
  proposal.refresh(tree)
  local paths = vim.tbl_map(function(file)
    return file.path
  end, answer.files)
  local named_paths = table.concat(paths, ", ", 1, math.min(#paths, NAMED_FILES))
  local more = #paths - NAMED_FILES
  notice("proposed " .. named_paths .. (more > 0 and MORE_FILES:format(more) or ""))
end)

local function begin(tree, text)
  local arguments = { action = "begin", pid = vim.fn.getpid(), message = text }
  arguments.buffers = worktree.unsaved(tree)
  return worktree.ask(tree, "turn", arguments)
end

-- For plugins that ask a model: begin a turn before the question, and end it after the answer, so
-- that its edits are for the files and buffers as they were then. `text` is the question; `done`
-- is called once the turn has begun, or ended.
M.begin_turn = at_cursor(function(here, text, done)
  local tree = worktree.of(here)
  begin(tree, text)
  if done then
    done()
  end
end)

M.end_turn = at_cursor(function(here, done)
  local tree = worktree.of(here)
  worktree.ask(tree, "turn", { action = "end" })
  asked[tree.top] = nil
  if done then
    done()
  end
end)

-- Begin a turn with a question, which the next `:BoocodePropose` ends; with `!`, end it without.
M.ask = at_cursor(function(here, command)
  local tree = worktree.of(here)
  if command and command.bang then
    worktree.ask(tree, "turn", { action = "end" })
    asked[tree.top] = nil
    notice("the turn has ended")
    return
  end
  local text = command and command.args ~= "" and command.args or nil
  asked[tree.top] = begin(tree, text).id
  notice("a turn has begun; :BoocodePropose with the answer ends it, and so does :BoocodeAsk!")
end)

-- Show the file and what is proposed for it side by side.
M.diff = at_cursor(function(here)
  local tree, path = file_at(here)
  local preview = proposal.compare(tree, path, here)
  if preview and preview.warning then
    vim.notify("boocode: " .. preview.warning, vim.log.levels.WARN)
  end
end)

-- The sides of a turn that a command may go to, and its other options.
local function restore_options(command)
  local sides, others = BOTH_SIDES, {}
  for _, option in ipairs((command or {}).fargs or {}) do
    if SIDES[option] then
      sides = SIDES[option]
    else
      table.insert(others, option)
    end
  end
  return sides, options_of("restore", others)
end

-- Choose a turn, and restore the files to before or after it.
M.restore = at_cursor(function(here, command)
  local sides, arguments = restore_options(command)
  local tree = worktree.of(here)
  turns.restore(tree, nil, arguments, sides)
end)

-- The worktree of a place, whose buffer has to be saved, and a pathspec of its file.
local function saved_file(here)
  local tree, path = file_at(here)
  if vim.bo[here.buffer].modified then
    error("write the buffer first: its file is to be restored", 0)
  end
  return tree, { ":(top,literal)" .. path }
end

-- Choose a turn, and restore the file to before or after it.
M.restore_file = at_cursor(function(here, command)
  local sides, arguments = restore_options(command)
  local tree, paths = saved_file(here)
  turns.restore(tree, paths, arguments, sides)
end)

-- Choose a turn, and restore the hunk under the cursor to before it, or with `--after` to after it.
M.restore_hunk = at_cursor(function(here, command)
  local sides = restore_options(command)
  local tree, paths = saved_file(here)
  turns.restore_hunk(tree, here, paths, sides[1])
end)

-- Choose a turn, and take it back; what others wrote since stays, in modified buffers, too.
M.revert = at_cursor(function(here)
  local tree = worktree.of(here)
  turns.revert(tree)
end)

-- Choose a turn that is not in force, and do here what it did.
M.pick = at_cursor(function(here)
  local tree = worktree.of(here)
  turns.pick(tree)
end)

-- List the turns, to walk through what they did.
M.log = at_cursor(function(here)
  local tree = worktree.of(here)
  turns.log(tree)
end)

local function step(tree, tool, arguments, done)
  local dry = vim.tbl_extend("force", arguments, { dry_run = true })
  turns.refuse_unsaved(tree, worktree.ask(tree, tool, dry).changed)
  local answer = worktree.ask(tree, tool, arguments)
  local with_buffer = accepted.followed_by_buffer(tree, tool, answer)
  worktree.fill_buffers(tree, answer.changed)
  proposal.refresh(tree)
  turns.refresh_log(tree)
  local what = #answer.changed > 0 and "the change of " .. named(answer.changed)
    or answer.proposal and "the latest " .. answer.proposal
    or "the latest change"
  local kept = with_buffer == false and "; the buffer keeps its text" or ""
  notice(done .. " " .. what .. kept)
end

-- Step back, or forth again, through restores, reverts, accepts and discards.
local function stepping(tool, done)
  return at_cursor(function(here)
    local tree = worktree.of(here)
    steps.run(tool, {}, function(arguments)
      step(tree, tool, arguments, done)
    end)
  end)
end

M.undo = stepping("undo", "undid")
M.redo = stepping("redo", "redid")

-- Take a checkpoint of the files as they are on disk.
M.checkpoint = at_cursor(function(here, command)
  local tree = worktree.of(here)
  local label = command and command.args ~= "" and command.args or nil
  worktree.ask(tree, "checkpoint", { label = label })
  local unsaved = vim.tbl_count(worktree.unsaved(tree))
  local without = unsaved > 0 and ", without the changes of unsaved buffers: " .. unsaved or ""
  notice("took a checkpoint" .. without)
end)

-- Say what is proposed, and whether a turn is running.
M.status = at_cursor(function(here)
  local tree = worktree.of(here)
  local lines = {}
  for _, file in ipairs(proposal.refresh(tree)) do
    table.insert(lines, ("%-2s %s"):format(file.status, file.path))
  end
  if #lines == 0 then
    table.insert(lines, "nothing is proposed")
  end
  local is_running, running = pcall(worktree.ask, tree, "turn", { action = "status" })
  if is_running then
    local name = running.turn.message
    table.insert(lines, "a turn is running" .. (name ~= "" and ": " .. name or ""))
  end
  notice(table.concat(lines, "\n"))
end)

-- Give up what the editor waits for; with `!`, end the servers that do not answer.
function M.cancel(command)
  local kept, cancelled = server.cancel(command and command.bang)
  if #kept > 0 then
    local tools = table.concat(kept, ", ")
    notice(tools .. " has begun; :BoocodeUndo takes it back, :BoocodeCancel! ends the server")
  elseif cancelled == 0 then
    notice("there is nothing to cancel")
  end
end

-- The lines that `:BoocodePropose` names: a selection, a register such as `@+`, or a file.
local function edits_of(command)
  if command.range > 0 then
    return vim.fn.getline(command.line1, command.line2)
  end
  local register = command.args == "" and "" or command.args:match("^@(.)$")
  return register and vim.fn.getreg(register, 1, true) or command.args
end

local function completing(options)
  return function(typed)
    return vim.tbl_filter(function(option)
      return vim.startswith(option, typed)
    end, options)
  end
end

-- Define the commands; it may be called again.
function M.setup()
  local function define(name, action, options)
    options = vim.tbl_extend("keep", options or {}, { bar = true })
    vim.api.nvim_create_user_command("Boocode" .. name, action, options)
  end
  local accepting = { nargs = "*", complete = completing(OPTIONS_OF.accept) }
  local discarding = { nargs = "*", complete = completing(OPTIONS_OF.discard) }
  local restoring = { nargs = "*", complete = completing({ "--after", "--before", "--files-only" }) }
  define("Accept", M.accept, accepting)
  define("AcceptAll", M.accept_all, accepting)
  define("AcceptHunk", M.accept_hunk, accepting)
  define("Ask", M.ask, { nargs = "?", bang = true })
  define("Cancel", M.cancel, { bang = true })
  define("Checkpoint", M.checkpoint, { nargs = "?" })
  define("Diff", M.diff)
  define("Discard", M.discard, discarding)
  define("DiscardAll", M.discard_all, discarding)
  define("DiscardHunk", M.discard_hunk, discarding)
  define("List", M.list)
  define("Log", M.log)
  define("Next", M.next_hunk, { count = true })
  define("Pick", M.pick)
  define("Previous", M.previous_hunk, { count = true })
  define("Redo", M.redo)
  define("Restore", M.restore, restoring)
  define("RestoreFile", M.restore_file, restoring)
  define("RestoreHunk", M.restore_hunk, restoring)
  define("Revert", M.revert)
  define("Signs", M.signs)
  define("Status", M.status)
  define("Undo", M.undo)
  local options = { nargs = "?", range = true, bang = true, complete = "file" }
  define("Propose", function(command)
    local refused = command.bang and worktree.refused
    M.propose(edits_of(command), refused and refused.id)
  end, options)
end

return M
