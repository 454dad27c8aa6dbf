// git-boocode: made by 'git boocode hooks install'; 'git boocode hooks uninstall' removes it
//
// Pi loads this extension when it starts. It reports each prompt to git-boocode before the agent
// sees it and, unless boocode.perTool is never, each tool before and after it runs; the agent
// continues when the state is recorded. This extension never stops a turn.

import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"

const COMMAND = {command_json}
const SECONDS = {seconds}
const PER_TOOL = {per_tool}

const report = (payload) =>
  new Promise((resolve) => {
    try {
      const child = spawn(`${COMMAND} ${payload.event}`, {
        cwd: payload.cwd,
        shell: true,
        stdio: ["pipe", "ignore", "ignore"],
        timeout: SECONDS * 1000,
      })
      child.on("error", () => resolve())
      child.on("exit", () => resolve())
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve()
    }
  })

export default (pi) => {
  let turn = ""
  const send = (event, ctx, more) => {
    const sessions = ctx.sessionManager
    const session = { sessionId: sessions.getSessionId(), sessionFile: sessions.getSessionFile() }
    return report({ event, ...session, turnId: turn, cwd: ctx.cwd, ...more })
  }
  pi.on("before_agent_start", async (event, ctx) => {
    if (event.messageType === "custom" && turn) return
    turn = randomUUID()
    await send("before_agent_start", ctx, { prompt: event.prompt })
  })
  pi.on("agent_settled", async (event, ctx) => {
    if (turn) await send("agent_settled", ctx, { aborted: event.aborted })
  })
  if (!PER_TOOL) return
  for (const name of ["tool_call", "tool_result"])
    pi.on(name, async ({ toolName, toolCallId, input }, ctx) => {
      await send(name, ctx, { toolName, toolCallId, input })
    })
}
