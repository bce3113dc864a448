export const displays = {
  title: 'Displays',
  add: 'New display link',
  explained: 'A link opens the wall on a screen that nobody signs in at. It shows names and levels, and nothing else.',
  place: 'What it shows',
  once: 'Open this address on the screen. It is shown once; whoever has it sees the levels.',
  address: 'Address for the screen',
  unused: 'not used yet',
  revoke: 'Revoke',
  revokeTitle: (name: string) => `Revoke ${name}`,
  revokeExplained: 'Its screens go dark within a minute.',
  spent: 'This display link was revoked or has expired.',
}
