// A little script: pages work without it.
"use strict";
