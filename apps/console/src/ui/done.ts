import { notifications } from '@mantine/notifications';

/** Shows a short notice of success in the corner. Errors are shown in place instead (`ProblemAlert`). */
export const sayDone = (message: string): void => {
  notifications.show({ message, color: 'green', autoClose: 4_000, withBorder: true, closeButtonProps: { 'aria-label': 'Close' } });
};
