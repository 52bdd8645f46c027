/** The mark of the service, for a browser's tab. `console/icon.svg` is the same. */
export const ICON_SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Transfer Service</title><rect width="32" height="32" rx="7" fill="#0b5a48"/><path d="M7 12h15l-4-4M25 20H10l4 4" fill="none" stroke="#fcfbf8" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>\n';

/** The same mark as an icon file with one PNG of 32 by 32 pixels, for clients that request /favicon.ico. */
export const ICON_ICO = Buffer.from(
  [
    'AAABAAEAICAAAAEAIADDAgAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAnhJREFUeJzsl01oE0EUx/+z2SqJFCrU9ANKUSMo',
    'UikoNAdFPWj8uIgIQsVURFG8WQSv4tGP9qhiVRQqgiIehNRCq/hZPWjAtliMaE0J2qjED6Jt1h3fC24USdxddrO59AdhMjM7+96+ee/NGxV/s2VNTcA/',
    '+yCECAvIVkAE4QpyUkLEIeVQ9vtUN27cyRgzwvgT2LF+I3TRI4RoRBmRUqagyD3Z3v5YQYE57Rsi1PTBQ6TQN7ESAu2b5wagjQiIBngIWyKroUXxS63D',
    'a+EMb7VfRVRVBMKoECxbIe90rEB40RK0hRbDLizbN6sl1A0HhOobcfdoF6Kr1yH9JYNnrxOW11IE1Khwka6O/fn23KD1gGILHIEDPn37Sl/+GZHWFfk+',
    't3YsUdICTbVBNNdaS4RjqQlcf3wfW9tW5vtsCYos9AzGTNcKSkLy38H5wXrEj5+GU5YfPoDEu9R/nylqAQkJN5jWNNNnilqAsbMFxRj/MIkk/cwo6QNJ',
    'iy9wioIKM6OApUxYToc0VWBhXQOeHjsFpyzt3IuJj2nYVoDObbiBTyn+HlMFOJMdunQGJ6L7CmPXhu7hwu1bsIqjLWDODsSgS1k47baFV+Hh2IitU68U',
    'lqOAhXVe/HM+nCSLNM9zXrXbqgeMLzYs4QYqlafvydPqrC5gJUaTb6HpPzGedpiqSbYqhYiTf0bsrHv0chRuwLKpKJVxVAiWrUhdkGfJDDxHZli28uNK',
    '3xtdF7vhMVSE7GLZPu5ow4kXVcsWPKHRtZT5qlFGfl9Ot2cv99/kvs+YyD1/lciFms5Xqb5pioopup5Xc8EEV8hfzx+Q9F66nu/MXR0YNmZ+AQAA//+N',
    'lX1PAAAABklEQVQDAGWb8RRcoT/PAAAAAElFTkSuQmCC',
  ].join(''),
  'base64',
);
