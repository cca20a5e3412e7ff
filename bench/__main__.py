from bench.lowering import main

raise SystemExit(main())
