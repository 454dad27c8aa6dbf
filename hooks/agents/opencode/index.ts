// opencode loads this plugin, which 'git boocode hooks install' lists in opencode.json. It reports
// each user message to git-boocode before the agent sees it and, with the option perTool, each tool
// before and after it runs; the agent continues when the state is recorded. What a subagent does
// belongs to the session that started it. This plugin never stops a turn.
//
// Options: command, which is given the event; seconds, how long to wait for it; perTool.

import { spawn } from "node:child_process"

const DEFAULTS = { command: "git boocode hook opencode", seconds: 10, perTool: true }

const run = ({ command, seconds }, event, payload) =>
  new Promise((resolve) => {
    try {
      const child = spawn(`${command} ${event}`, {
        cwd: payload.directory,
        shell: true,
        stdio: ["pipe", "ignore", "ignore"],
        timeout: seconds * 1000,
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

export const GitBoocode = async ({ directory, client }, given) => {
  const options = { ...DEFAULTS, ...given }
  const report = (event, payload) => run(options, event, payload)
  // The current message of each session, to which its tools belong.
  const turns = new Map()
  // The sessions that started the sessions of subagents; null for the user's own sessions.
  const parents = new Map()
  // The arguments of running tools.
  const running = new Map()
  const parentOf = async (sessionID) => {
    if (!parents.has(sessionID)) {
      // It was created before this program started.
      const found = await Promise.resolve()
        .then(() => client.session.get({ path: { id: sessionID } }))
        .catch(() => undefined)
      parents.set(sessionID, found?.data?.parentID ?? null)
    }
    return parents.get(sessionID)
  }
  const rootOf = async (sessionID) => {
    const parentID = await parentOf(sessionID)
    return parentID ? rootOf(parentID) : sessionID
  }
  const reportTool = async (event, input, args) => {
    const sessionID = await rootOf(input?.sessionID)
    const messageID = turns.get(sessionID)
    const { tool, callID } = input ?? {}
    return report(event, { sessionID, messageID, tool, callID, args, directory })
  }
  return {
    "chat.message": async (input, output) => {
      const sessionID = input?.sessionID
      if (await parentOf(sessionID)) return
      const messageID = output?.message?.id ?? input?.messageID
      turns.set(sessionID, messageID)
      const prompt = textOf(output?.parts)
      await report("chat.message", { sessionID, messageID, prompt, directory })
    },
    event: async ({ event }) => {
      if (event?.type === "session.created") {
        const { id, parentID } = event.properties?.info ?? {}
        if (id && parentID) parents.set(id, parentID)
      }
      if (event?.type !== "session.idle") return
      const sessionID = event.properties?.sessionID
      const messageID = turns.get(sessionID)
      if (messageID) await report("session.idle", { sessionID, messageID, directory })
    },
    ...(options.perTool && {
      "tool.execute.before": async (input, output) => {
        running.set(input?.callID, output?.args)
        await reportTool("tool.execute.before", input, output?.args)
      },
      "tool.execute.after": async (input) => {
        const args = running.get(input?.callID)
        running.delete(input?.callID)
        await reportTool("tool.execute.after", input, args)
      },
    }),
  }
}
