// A box that is set up as its line or its stick says.
import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { Agent, type Controller, type House } from './whole.ts'

interface Given {
  /** What the box has beside its settings: its sound cards. */
  env?: Record<string, string>
  nodeId: string
  token: string
}

/** Bootstraps, then runs with the token it got. */
export async function setUpBox(
  house: House,
  controller: Controller,
  { env: has = {}, nodeId, token }: Given,
): Promise<void> {
  const cwd = house.path(`box-${nodeId}`)
  const args = ['agent', '--bootstrap', '--node-id', nodeId, '--bootstrap-token-file', '-']
  const env = { SVC_CONTROLLER_URL: controller.url }
  const box = house.start(args, { cwd, env, input: `${token}\n` })
  await box.exited
  const settings = fs.readFileSync(`${cwd}/recorder-agent.env`, 'utf8')
  const given = /^SVC_CONTROLLER_TOKEN='?([^'\n]+)/m.exec(settings)?.[1] ?? ''
  assert.notEqual(given, '', box.said())
  const own = { SVC_CONTROLLER_TOKEN: given, SVC_CONTROLLER_URL: controller.url, SVC_NODE_ID: nodeId }
  new Agent(house, { ...own, ...has, SVC_HEARTBEAT_SECONDS: '1' }, [], `agent-${nodeId}`).start()
}
