export const me = {
  title: 'My account',
  language: 'Language',
  theme: 'Theme',
  themes: { light: 'light', dark: 'dark', system: 'as the system' },
  password: 'Change password',
  current: 'Current password',
  next: 'New password',
  change: 'Change password',
  changed: 'The password was changed. Your other sessions have ended.',
  roles: 'Roles',
  noRoles: 'none: what you may do is set room by room',
}
