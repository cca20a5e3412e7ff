from bench import handingback, lowering, processor

raise SystemExit(lowering.main() | processor.main() | handingback.main())
