// git-boocode: made by 'git boocode hooks install'; 'git boocode hooks uninstall' removes it
//
// opencode loads this plugin when it starts. It tells git-boocode of each message of the user's
// before the agent sees it, and, where boocode.perTool asked for that, of each tool before it
// runs; the agent goes on when the checkpoint is taken. Nothing in here ever stops a turn.

import { spawn } from "node:child_process"

const COMMAND = {command_json}
const SECONDS = {seconds}
const PER_TOOL = {per_tool}

const tell = (event, payload) =>
  new Promise((resolve) => {
    try {
      const child = spawn(`${COMMAND} ${event}`, {
        cwd: payload.directory,
        shell: true,
        stdio: ["pipe", "ignore", "ignore"],
        timeout: SECONDS * 1000,
      })
      child.on("error", resolve)
      child.on("exit", resolve)
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ event, ...payload }))
    } catch {
      resolve()
    }
  })

const textOf = (parts) =>
  (Array.isArray(parts) ? parts : [])
    .filter((part) => part?.type === "text" && !part.synthetic && typeof part.text === "string")
    .map((part) => part.text)
    .join("\n")

export const GitBoocode = async ({ directory }) => {
  // By session the message that is worked on: a tool belongs to its turn.
  const turns = new Map()
  return {
    "chat.message": async (input, output) => {
      const sessionID = input?.sessionID
      const messageID = output?.message?.id ?? input?.messageID
      turns.set(sessionID, messageID)
      const prompt = textOf(output?.parts)
      await tell("chat.message", { sessionID, messageID, prompt, directory })
    },
    ...(PER_TOOL && {
      "tool.execute.before": async (input, output) => {
        const sessionID = input?.sessionID
        const messageID = turns.get(sessionID)
        const [tool, args] = [input?.tool, output?.args]
        await tell("tool.execute.before", { sessionID, messageID, tool, args, directory })
      },
    }),
  }
}
