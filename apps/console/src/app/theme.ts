import { createTheme } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'green',
  // Texts on filled buttons and badges have at least 4.5:1 (WCAG AA).
  primaryShade: { light: 9, dark: 8 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
});
