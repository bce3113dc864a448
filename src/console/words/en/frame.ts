import { counted } from './counted.ts'

export const nav = {
  label: 'Main',
  today: 'Today',
  rooms: 'Rooms',
  library: 'Library',
  alerts: 'Alerts',
  activity: 'Activity',
  wall: 'Wall',
  settings: 'Settings',
  access: 'Access',
  audit: 'Audit',
  schedule: 'Schedule',
  recorders: 'Recorders',
  me: 'My account',
  more: 'More',
  groups: { admin: 'Administration', fleet: 'Fleet', work: 'Work' },
}

export const common = {
  loading: 'Loading',
  retry: 'Try again',
  showTyped: 'Show password',
  stop: 'Stop',
  actions: 'Actions',
  cancel: 'Cancel',
  choose: 'Choose one from the list.',
  close: 'Close',
  copied: 'Copied.',
  copy: 'Copy',
  copyByHand: 'Select the text and copy it by hand.',
  delete: 'Delete',
  edit: 'Edit',
  all: 'all',
  filters: 'Filters',
  clearFilters: 'Clear filters',
  needs: (permission: string) => `Requires the permission ${permission}.`,
  previous: 'Previous',
  next: 'Next',
  noMatch: 'Nothing matches.',
  none: 'none',
  page: (from: number, to: number, total: string) => `${from} to ${to} of ${total}`,
  remove: 'Remove',
  save: 'Save',
  saved: 'Saved.',
  search: 'Search',
  select: 'Select',
  selectAll: 'Select all on this page',
  selected: (n: number) => `${n} selected`,
  selectRow: (name: string) => `Select ${name}`,
  typeName: (name: string) => `Type ${name} to confirm`,
  undo: 'Undo',
  unset: 'not set',
}

export const login = {
  title: 'Sign in',
  email: 'E-mail',
  password: 'Password',
  submit: 'Sign in',
  wrong: 'E-mail or password is wrong.',
  provider: (kind: string) => `Sign in with ${kind === 'azure_ad' ? 'Microsoft' : 'your organisation'}`,
  inNewTab: (deed: string) => `${deed}, in a new tab`,
  ended: 'Your session has ended. Sign in again.',
  ends: (at: string) => `Your session ends at ${at}.`,
  stay: 'Stay signed in',
  signOut: 'Sign out',
}

export const live = {
  reload: 'Reload to get the new version',
  unsent: 'Not connected: nothing can be sent now.',
  lost: (since: string) => `Not connected since ${since}. What you see may be out of date.`,
}

export const failures = {
  denied: 'You may not see this',
  refused: 'You may not do this',
  old: 'This could not be refreshed. What you see may be out of date.',
  deniedBecause: (permission: string) =>
    `Requires the permission ${permission}. Anyone who manages access can grant it.`,
  gone: 'This no longer exists, or you may not see it.',
  offline: 'The controller cannot be reached.',
  slow: 'No answer in time. It may have been done all the same: check before you try again.',
  failed: 'That did not work',
  page: 'Something went wrong on this page.',
  tooOften: (seconds: number) => `Too many requests. Try again in ${counted(seconds, 'second', 'seconds')}.`,
}

export const keys = {
  title: 'Keyboard',
  key: 'Key',
  what: 'What it does',
  single: 'Enable single-key shortcuts (? and /)',
  named: {
    Space: 'Space',
    'Page Up': 'Page Up',
    'Page Down': 'Page Down',
    'Shift ↑': 'Shift ↑',
    'Shift ↓': 'Shift ↓',
  } as Record<string, string>,
  does: {
    help: 'This help',
    search: 'Go to the search field',
    rows: 'In a list: move between rows',
    play: 'In the player: play and pause',
    jump: 'In the player: 5, 10 or 30 seconds back or forward',
    lift: 'On a schedule card: lift it, drop it',
    carry: 'A lifted card: change the day or time',
    hour: 'A lifted card: move by an hour',
    back: 'Cancel the move; close a dialog',
  },
}

export const dock = {
  ended: (name: string) => `Listening to ${name} has ended: the recorder stopped sending audio.`,
  enhanced: 'Noise suppressed, where available',
  failed: (name: string) => `Cannot listen to ${name}.`,
  level: (db: string) => `Level ${db} dBFS`,
  limit: (name: string) => `Listening to ${name} ended after 30 minutes. Press Listen to continue.`,
}

export const player = {
  drawing: 'The waveform is being drawn.',
  undrawn: 'The waveform could not be read.',
}

export const screen = {
  empty: 'This link shows no recorders.',
  more: (n: number) =>
    `${counted(n, 'more recorder is', 'more recorders are')} not shown: make a link for fewer rooms.`,
}
