// One maintenance at a time.
import * as host from '../host/lock.ts'
import { maintenanceError } from './error.ts'

/** Holds `file` until `release` is called or this process is gone. @throws UserError when another has it, or it cannot be had */
export async function lock(file: string): Promise<{ release: () => void }> {
  const held = await host.lock(file).catch((e: Error) => {
    throw maintenanceError('refused', e.message)
  })
  if (!held) throw maintenanceError('locked', 'Another maintenance run is in progress on this box.')
  return held
}
