import { Button, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';

export const loadPalette = (): Promise<typeof import('./palette.js')> => import('./palette.js');
const Palette = lazy(loadPalette);

/** Opens the palette, as Ctrl+K and `/` do, unless a dialog is open or a field takes the key. */
export function FindButton(): ReactNode {
  const [isOpen, { open, close }] = useDisclosure();
  /** What is typed before the palette is loaded. */
  const early = useRef('');
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { key, target, altKey, ctrlKey, metaKey } = event;
      const isCommand = ctrlKey || metaKey;
      const isTyping = target instanceof Element && target.matches('input:not([type=checkbox], [type=radio]), textarea, select');
      const isMeant = key === '/' ? !isCommand && !isTyping : key.toLowerCase() === 'k' && isCommand;
      if (altKey || document.querySelector('[aria-modal=true]')) return;
      if (isOpen ? key.length > 1 || isCommand : !isMeant) return;
      event.preventDefault();
      if (isOpen) early.current += key;
      else open();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isOpen, open]);
  const onClose = (): void => {
    early.current = '';
    close();
  };
  return (
    <>
      <Button variant="default" size="xs" px={7} aria-label="Find anything" title="Find anything (Ctrl K or /)" aria-keyshortcuts="Control+K Meta+K /" onClick={open}>
        <IconSearch size={16} />
        <Text span inherit visibleFrom="sm" mx={6}>Find</Text>
        <Text span inherit visibleFrom="sm" c="dimmed">/</Text>
      </Button>
      {isOpen && <Suspense><Palette early={early} onClose={onClose} /></Suspense>}
    </>
  );
}
