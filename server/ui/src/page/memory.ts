/** What this browser remembers; without storage nothing is. */
export const memory = {
  get(key: string): string | null {
    try {
      return localStorage.getItem('aiflow.' + key);
    } catch {
      return null;
    }
  },
  set(key: string, value: string): void {
    try {
      localStorage.setItem('aiflow.' + key, value);
    } catch {
      // It holds until the page is loaded again.
    }
  },
};
