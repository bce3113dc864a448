import { holdAgent } from '../setup/hold.ts'
import { type Box, refuseWhileRecording } from './box.ts'

/**
 * Does `work`, which stops the agent, while the agent begins nothing new: no take is cut, and those that are asked for
 * meanwhile begin when `letGo` is called, at the latest at the end. @throws UserError while takes run; nothing was done then
 */
export async function whileHeld(box: Box, force: boolean, work: (letGo: () => void) => Promise<void>): Promise<void> {
  await refuseWhileRecording(force)
  const letGo = await holdAgent(box.say)
  try {
    await refuseWhileRecording(force)
    await work(letGo)
  } finally {
    letGo()
  }
}
