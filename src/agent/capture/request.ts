// How a device is opened: alike for takes and for the meters, so that one of them can share what the other has open.
import type { Clock } from '../../kernel/clock.ts'
import type { PcmFormat } from '../audio/format.rules.ts'
import { captureDevice, type DeviceRequest, streamFormat } from './devices.ts'
import type { Feeds } from './feeds.ts'
import type { Want } from './slot.ts'

interface Request extends Omit<DeviceRequest, 'argsTemplate'> {
  argsTemplate: string | undefined
  asked: PcmFormat
  /** Another name of the device that says better which hardware it is. */
  hardware?: string | undefined
}

/** What to ask of `feeds`, all but the name on the bus. @throws Error when this machine cannot open the device so, or may not */
export async function captureRequest(
  { argsTemplate, asked, hardware, ...request }: Request,
  { clock, feeds }: { clock: Clock; feeds: Pick<Feeds, 'hardware'> },
): Promise<Omit<Want, 'interfaceRef'>> {
  const { backend, command, device } = request
  const template = argsTemplate === undefined ? {} : { argsTemplate }
  return {
    asked: streamFormat(backend, asked),
    device: captureDevice({ ...template, ...request }, clock),
    hardware: await feeds.hardware(backend, hardware ?? device),
    how: [backend, command, argsTemplate].join(' '),
  }
}
