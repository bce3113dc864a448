import type { LevelFrame, MeterFrame } from '../../../wire/meters.ts'

/** Silence, dBFS. */
const SILENCE = -120
const tenths = (db: number): number => Math.max(SILENCE, Math.round(db * 10) / 10)

/**
 * A frame as meters on a screen need it: a tenth of the bytes, levels to 0.1 dB. `whole`: the newest one with quality, which
 * quick ones do not have.
 */
export function levelFrame(
  { capturedAt, interfaceId, levels, nodeId, synthetic }: MeterFrame,
  whole: MeterFrame | undefined,
): LevelFrame {
  const speaking = new Set(
    whole?.levels.filter(({ quality }) => quality?.speechLike).map((level) => level.channelIndex),
  )
  const where = (which: (level: MeterFrame['levels'][number]) => boolean | undefined): number[] =>
    levels.filter(which).map(({ channelIndex }) => channelIndex)
  return {
    at: capturedAt,
    channels: where(() => true),
    clip: where(({ clipping }) => clipping),
    interfaceId,
    nodeId,
    peak: levels.map(({ peakDbfs }) => tenths(peakDbfs)),
    rms: levels.map(({ rmsDbfs }) => tenths(rmsDbfs)),
    speech: where(({ channelIndex }) => speaking.has(channelIndex)),
    ...(synthetic ? { synthetic } : {}),
  }
}
