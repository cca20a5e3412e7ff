from bench import lowering, processor

raise SystemExit(lowering.main() | processor.main())
