// What the traits Metrics and Tracing report; run by the gate in a build that has both.

#if Metrics && Tracing
  import CoreMetrics
  import InMemoryTracing
  import MetricsTestKit
  import QuireDatabase
  import QuireTesting
  import Testing
  import Tracing

  @Suite struct TraitTests {
    /// What the process reports to; databases are told apart by their labels.
    private static let backends: (metrics: TestMetrics, tracer: InMemoryTracer) = {
      let (metrics, tracer) = (TestMetrics(), InMemoryTracer())
      MetricsSystem.bootstrap(metrics)
      InstrumentationSystem.bootstrap(tracer)
      return (metrics, tracer)
    }()

    private struct Refusal: Error {}

    let metrics: TestMetrics
    let tracer: InMemoryTracer
    let folder: TestFolder

    init() throws {
      (metrics, tracer) = Self.backends
      folder = try TestFolder()
    }

    private func open(_ label: String) throws -> Database {
      var options = Database.Options(durability: .full, label: label)
      options.metricsInterval = .zero
      return try folder.open(options)
    }

    private func total(_ name: String, _ label: String) throws -> Int64 {
      try metrics.expectCounter("quire.\(name)", [("database", label)]).totalValue
    }

    private func times(_ name: String, _ label: String) throws -> [Int64] {
      try metrics.expectTimer("quire.\(name)", [("database", label)]).values
    }

    private func value(_ name: String, _ label: String) throws -> Double {
      try #require(try metrics.expectMeter("quire.\(name)", [("database", label)]).lastValue)
    }

    private func spans(_ label: String) -> [FinishedInMemorySpan] {
      tracer.finishedSpans.filter { $0.attributes["db.namespace"]?.toSpanAttribute() == .string(label) }
    }

    // MARK: Metrics

    @Test func writesAreCountedAndTimed() async throws {
      let label = "writes"
      let db = try open(label)
      try await db.write { tx in for key in ["a", "b", "c"] { try tx[.texts("t")].set("v", for: key) } }
      try await db.write { tx in try tx[.texts("t")].set("w", for: "a") }
      await #expect(throws: Refusal.self) { try await db.write { _ -> Void in throw Refusal() } }
      #expect(try total("changes", label) == 4 && total("rollbacks", label) == 1)
      for name in ["write.duration", "write.waiting"] { #expect(try times(name, label).count == 3) }
      #expect(try times("write.commit", label).count == 2)
      let (whole, parts) = (try times("write.duration", label), try times("write.waiting", label))
      #expect(zip(whole, parts).allSatisfy { $0 >= $1 && $1 >= 0 })
      #expect(try times("opening.duration", label).count == 1 && total("opening.records", label) == 0)
    }

    @Test func whatTheEngineCountsIsPassedOn() throws {
      let label = "engine"
      let db = try open(label)
      for value in 0..<50 { try db.write { tx throws in try tx[.texts("t")].set("v", for: "k\(value)") } }
      let pin = try db.pin()
      try db.checkpoint()
      try db.write { tx throws in try tx[.texts("t")].set("w", for: "k") }
      let statistics = db.statistics
      #expect(try total("commits", label) == statistics.commits && total("log.bytes", label) == statistics.logBytes)
      #expect(try total("log.flushes", label) == statistics.flushes && total("checkpoints", label) >= 1)
      #expect(try total("pages.written", label) == statistics.pagesWritten)
      #expect(try total("cache.misses", label) == statistics.cacheMisses)
      #expect(try total("cache.evictions", label) == statistics.pagesEvicted)
      #expect(try value("snapshot.oldest.commits", label) == 1 && value("snapshot.oldest.seconds", label) >= 0)
      #expect(try value("file.pages", label) > 0 && value("pages.resident", label) > 0)
      withExtendedLifetime(pin) {}
    }

    @Test func theCacheOfObjectsIsPassedOn() throws {
      let label = "objects"
      var options = Database.Options(durability: .relaxed, objectCache: ObjectCacheOptions(), label: label)
      options.metricsInterval = .zero
      let db = try folder.open(options)
      try db.write { tx throws in try tx[.texts("t")].set("v", for: "k") }
      for _ in 0..<10 { _ = try db.read { tx in try tx[.texts("t")].get("k") } }
      try db.write { tx throws in try tx[.texts("t")].set("w", for: "other") }
      let statistics = try #require(db.objectCacheStatistics)
      #expect(statistics.hits > 0)
      #expect(try total("objects.hits", label) == statistics.hits)
      #expect(try total("objects.misses", label) == statistics.misses)
    }

    @Test func readsAreCountedTogetherAndTimedNowAndThen() throws {
      let label = "reads"
      let db = try open(label)
      for _ in 0..<130 { _ = try db.read { tx in tx.count } }
      #expect(try total("reads", label) == 128 && times("read.duration", label).count == 2)
      // The rest is told of at the end.
      try db.close()
      #expect(try total("reads", label) == 130)
    }

    // MARK: Tracing

    @Test func writesAreSpansOfTheirTasks() async throws {
      let label = "spans"
      let db = try open(label)
      try await withSpan("request") { request in
        try await db.write { tx in
          try tx[.texts("t")].set("v", for: "k")
          // Begun in the closure, which runs on another thread.
          withSpan("inner") { $0.attributes["db.namespace"] = label }
        }
        let found = spans(label)
        let write = try #require(found.first { $0.operationName == "quire.write" })
        let inner = try #require(found.first { $0.operationName == "inner" })
        #expect(write.parentSpanID == request.context.inMemorySpanContext?.spanID)
        #expect(inner.parentSpanID == write.spanID && write.traceID == inner.traceID)
        #expect(write.attributes["quire.changes"]?.toSpanAttribute() == .int64(1) && write.errors.isEmpty)
      }
      #expect(spans(label).first?.operationName == "quire.open")
    }

    @Test func writesThatFailAreSpansWithErrors() throws {
      let label = "failing spans"
      let db = try open(label)
      #expect(throws: Refusal.self) { try db.write { _ -> Void in throw Refusal() } }
      let write = try #require(spans(label).first { $0.operationName == "quire.write" })
      #expect(write.errors.count == 1 && write.status?.code == .error)
    }

    @Test func cancelledWritesAreSpansThatEnd() async throws {
      let label = "cancelled spans"
      let db = try open(label)
      let task = Task {
        while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
        _ = try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(spans(label).contains { $0.operationName == "quire.write" && $0.errors.count == 1 })
    }

    @Test func longWorkIsASpan() async throws {
      let label = "long work"
      let db = try open(label)
      try await db.write { tx in try tx[.texts("t")].set("v", for: "k") }
      let index = ValueIndex("index", { RowCollection<String, String>.texts($0) }) { text, _ in text }
      try await withSpan("job") { job in
        try await db.register(index)
        try await db.verify()
        try await db.compact()
        try await db.backup(to: folder.path + ".copy")
        for name in ["quire.register", "quire.verify", "quire.compact", "quire.backup"] {
          let span = try #require(spans(label).first { $0.operationName == name }, "\(name)")
          #expect(span.parentSpanID == job.context.inMemorySpanContext?.spanID)
        }
      }
      await #expect(throws: DatabaseError.self) { try await db.backup(to: folder.path + ".copy") }
      #expect(spans(label).contains { $0.operationName == "quire.backup" && $0.errors.count == 1 })
    }
  }
#endif
