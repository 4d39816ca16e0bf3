/* How widgets write numbers. */

export function bytes(value) {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const power = value < 1000 ? 0 : Math.min(5, Math.floor(Math.log10(value) / 3));
  return `${Number((value / 1000 ** power).toPrecision(3))} ${units[power]}`;
}

export const count = (n) => (n >= 1e9 ? `${n / 1e9} billion` : `${n / 1e6} million`);
