// oxlint-disable-next-line no-restricted-imports
import { createTheme, DEFAULT_THEME, defaultVariantColorsResolver, type MantineColorsTuple, Modal, Notification, parseThemeColor, TableScrollContainer, type VariantColorsResolver } from '@mantine/core';
import { type ComponentProps, createElement, type MouseEvent, type ReactNode } from 'react';

// Shade 9 is darker than Mantine's, so that white text on it has a contrast of 5.9:1.
const green = [...DEFAULT_THEME.colors.green.slice(0, 9), '#237032'] as unknown as MantineColorsTuple;

/** Gives coloured text on a tint of its colour a contrast of at least 4.5:1 (WCAG AA) in both colour schemes, unlike Mantine. */
const variantColorResolver: VariantColorsResolver = (input) => {
  const resolved = defaultVariantColorsResolver(input);
  // By default the lighter shade 8, on which white text has a contrast of only 3.4:1.
  if (input.variant === 'filled' && resolved.color === 'var(--mantine-color-white)') return { ...resolved, hover: `color-mix(in srgb, ${resolved.background}, black 15%)` };
  if (!['light', 'subtle', 'transparent', 'outline'].includes(input.variant)) return resolved;
  const { value, isThemeColor, color } = parseThemeColor({ color: input.color ?? input.theme.primaryColor, theme: input.theme });
  if (!isThemeColor) return { ...resolved, color: value };
  return { ...resolved, color: `light-dark(color-mix(in srgb, var(--mantine-color-${color}-9), black 40%), var(--mantine-color-${color}-1))` };
};

/** A disabled button loses the focus. One that is busy keeps it, and does nothing until the answer comes. */
function FocusableButton({ disabled, onClick, type = 'button', ...props }: ComponentProps<'button'> & { readonly 'data-loading'?: boolean }): ReactNode {
  const isBusy = Boolean(props['data-loading']);
  return createElement('button', { ...props, type, ...(isBusy ? { 'aria-disabled': true, onClick: (event: MouseEvent) => event.preventDefault() } : { disabled, onClick }) });
}

/** What opens at a field or a button belongs to the page's content (the shell has the place), though it is drawn over it. */
const overPage = { portalProps: { target: '#over-page' } };

/** The list itself scrolls: its field has the focus, and moves it. */
const scrollingList = { withScrollArea: false, comboboxProps: overPage, styles: { options: { maxHeight: 220, overflowY: 'auto' as const } } };

export const theme = createTheme({
  primaryColor: 'green',
  primaryShade: 9,
  colors: { green },
  autoContrast: true,
  variantColorResolver,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  components: {
    // No spinner: it would draw the page 60 times a second while the answer is awaited.
    Button: { defaultProps: { component: FocusableButton, loaderProps: { children: '…' } } },
    // Its placeholder for the focus is no item, and nothing else may be in a menu.
    Menu: { defaultProps: { ...overPage, withInitialFocusPlaceholder: false }, styles: { dropdown: { maxWidth: 'calc(100vw - 1.5rem)' } } },
    Select: { defaultProps: scrollingList },
    MultiSelect: { defaultProps: scrollingList },
    Autocomplete: { defaultProps: scrollingList },
    TagsInput: { defaultProps: scrollingList },
    TableScrollContainer: TableScrollContainer.extend({ defaultProps: { type: 'native' }, classNames: { scrollContainer: 'wide' } }),
    // Otherwise a dialog's header would count as a second page header.
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, attributes: { header: { role: 'presentation' } } }, styles: { title: { fontWeight: 650, lineHeight: 1.3, minWidth: 0, overflowWrap: 'anywhere' }, header: { alignItems: 'flex-start' } } }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } }),
  },
});
