// What sets a box up: the file of a stick (docs/contract/agent.md). `nodes` holds one entry here.
export interface SetupFile {
  allowInsecure: boolean
  controllerUrl: string
  nodes: { bootstrapToken: string; expiresAt: string; nodeId: string }[]
}

/** Name of the file on the stick. */
export const SETUP_FILE = 'roomtone.json'

/** The wish of `POST /nodes/bootstrap-config`: a plain address needs to be said. */
export const setupWish = (controllerUrl: string, node: object) => ({
  allowInsecure: controllerUrl.startsWith('http:'),
  controllerUrl,
  nodes: [node],
})
