// Lines on a field of 24, drawn for this console.
const PATHS = {
  access: 'M8 15a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z M12 11h9 M18 11v4',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  alert: 'M12 3 22 20H2Z M12 10v4 M12 17v.5',
  close: 'M5 5l14 14 M19 5 5 19',
  audit: 'M6 3h9l4 4v14H6Z M9 12h6 M9 16h6',
  check: 'm5 12 5 5L19 7',
  library: 'M4 5h16 M4 10h16 M4 15h10 M4 20h10',
  listen: 'M4 14v-2a8 8 0 0 1 16 0v2 M4 14h3v6H4Z M17 14h3v6h-3Z',
  me: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z M4 21c0-4 4-6 8-6s8 2 8 6',
  more: 'M4 6h16 M4 12h16 M4 18h16',
  next: 'm9 5 7 7-7 7',
  pause: 'M8 5v14 M16 5v14',
  play: 'M7 4v16l13-8Z',
  record: 'M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14Z',
  recorder: 'M4 7h16v11H4Z M8 14.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z M13 11h4 M13 14h4',
  room: 'M5 21V3h14v18 M3 21h18 M15 12v.5',
  schedule: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z M12 7v5l3 3',
  settings: 'M4 8h10 M18 8h2 M16 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z M4 16h2 M10 16h10 M8 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  stop: 'M6 6h12v12H6Z',
  today: 'M4 6h16v15H4Z M8 3v5 M16 3v5 M4 11h16',
  wall: 'M4 20V10 M9 20V4 M14 20v-8 M19 20V7',
}
export type IconName = keyof typeof PATHS

export const Icon = ({ name, size = 20 }: { name: IconName; size?: number }) => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
  >
    <path d={PATHS[name]} />
  </svg>
)
