// A sound card without hardware in a machine: two channels of a JACK graph that ALSA's plugin opens, with a tone on each.
import type { Machine } from './machine.ts'

/** What the left and the right channel sound, Hz. */
export const TONES = [440, 1250] as const
const RATE = 48_000

/** For the environment of whoever opens the card. */
export const CARD_ENV = {
  JACK_DEFAULT_SERVER: 'desk',
  JACK_NO_START_SERVER: '1',
  SVC_ALSA_PROC_ROOT: '/srv/asound',
}

/** `hw:CARD=Desk,DEV=0`, whatever device of whatever card is asked for. */
const ASOUND = `pcm.room_Desk { type plug slave.pcm { type jack capture_ports { 0 jackplay:out_1 1 jackplay:out_2 } } }
${['hw', 'plughw']
  .map(
    (pcm) => `pcm.!${pcm} {
  @args [ CARD DEV SUBDEV ]
  @args.CARD { type string default "Desk" }
  @args.DEV { type integer default 0 }
  @args.SUBDEV { type integer default -1 }
  type empty
  slave.pcm { @func concat strings [ "room_" $CARD ] }
}`,
  )
  .join('\n')}
`

/** Lays it out and lets it sound. `user`: who will open it; a JACK server is its user's own. */
export async function layCard(machine: Machine, user: string): Promise<void> {
  await machine.write('/etc/asound.conf', ASOUND)
  await machine.write('/srv/asound/pcm', '00-00: Desk : Desk : capture 1\n')
  await machine.write('/srv/asound/card0/id', 'Desk\n')
  await machine.write('/srv/asound/card0/pcm0c/sub0/status', 'closed\n')
  const mode = `    Format: S32_LE\n    Channels: ${TONES.length}\n    Rates: ${RATE}\n`
  await machine.write('/srv/asound/card0/stream0', `Desk\n\nCapture:\n  Status: Stop\n  Interface 1\n${mode}`)
  const tones = TONES.map((tone) => `0.3*sin(2*PI*${tone}*t)`).join('|')
  await machine.must(`ffmpeg -v error -f lavfi -i 'aevalsrc=${tones}:s=${RATE}:d=1' /srv/signal.wav`)
  await startCard(machine, user)
}

/** Again after a reboot. */
export async function startCard(machine: Machine, user: string): Promise<void> {
  const run = `systemd-run --quiet --collect -p User=${user} -E JACK_DEFAULT_SERVER=desk`
  const clock = `-d dummy -r ${RATE} -p 1024 -C 0 -P 0`
  await machine.must(`${run} --unit=card-server jackd -n desk -S -r --no-realtime ${clock}`)
  await machine.until('the JACK server', `runuser -u ${user} -- env JACK_DEFAULT_SERVER=desk jack_lsp`)
  await machine.must(`${run} --unit=card-player -p StandardOutput=null -p StandardError=null \
    sndfile-jackplay -l 0 /srv/signal.wav`)
  const ports = `runuser -u ${user} -- env JACK_DEFAULT_SERVER=desk jack_lsp | grep -q out_${TONES.length}`
  await machine.until('the player', ports)
}
