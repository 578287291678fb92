/** The tab that an address names, if there is one of that name; names that every object has by birth are none. */
export function tabFrom<T extends object>(
  tabs: T,
  text: string | undefined,
  usual: keyof T & string,
): keyof T & string {
  return text !== undefined && Object.hasOwn(tabs, text) ? (text as keyof T & string) : usual;
}
