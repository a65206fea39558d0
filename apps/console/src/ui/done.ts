import { notifications } from '@mantine/notifications';

/** Says in the corner that something has happened. Refusals are shown where they belong instead (`ProblemAlert`). */
export const sayDone = (message: string): void => {
  notifications.show({ message, color: 'green', autoClose: 4_000, withBorder: true, closeButtonProps: { 'aria-label': 'Close' } });
};
