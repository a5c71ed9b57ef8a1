// The chat as a web server: a page, and what it asks for as JSON.

#if Example
  import FlyingFox
  import FlyingSocks
  import Foundation
  import Quire

  /// Answers requests out of a store. Each request is one transaction of it.
  struct ChatServer: Sendable {
    let store: ChatStore
    let hub: EventHub
    let work = WorkDesk()

    /// Serves until the task is cancelled.
    func run(port: UInt16) async throws {
      let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: port))
      try await addPages(to: server)
      await addRooms(to: server)
      await addMessages(to: server)
      await addLongWork(to: server)
      // Before the first request, so that no commit is missed.
      let commits = store.database.commits
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await hub.follow(store, commits) }
        group.addTask { try await server.run() }
        group.addTask {
          try await server.waitUntilListening()
          print("The chat is at http://localhost:\(port)/")
        }
        try await group.waitForAll()
      }
    }

    private func addPages(to server: HTTPServer) async throws {
      let page = Data(PackageResources.chat_html)
      await server.appendRoute("GET /") { _ in
        HTTPResponse(statusCode: .ok, headers: [.contentType: "text/html; charset=utf-8"], body: page)
      }
      await server.appendRoute("GET /live", to: WebSocketHTTPHandler(handler: hub))
    }

    private func addRooms(to server: HTTPServer) async {
      await add("GET /api/rooms", to: server) { request in
        .json(try await store.rooms(for: request.query["person"] ?? ""))
      }
      await add("POST /api/rooms", to: server) { request in
        struct New: Codable { let title: String }
        return .json(try await store.makeRoom(titled: try await request.decoded(New.self).title))
      }
      await add("DELETE /api/rooms/:room", to: server) { request in
        try await store.removeRoom(request.room)
        return .json(true)
      }
      await add("POST /api/rooms/:room/read", to: server) { request in
        struct Read: Codable { let person: String, key: String }
        let read = try await request.decoded(Read.self)
        try await store.markRead(request.room, by: read.person, upTo: read.key)
        return .json(true)
      }
    }

    private func addMessages(to server: HTTPServer) async {
      await add("GET /api/rooms/:room/messages", to: server) { request in
        let limit = request.query["limit"].flatMap { Int($0) } ?? 50
        return .json(try await store.messages(in: request.room, before: request.query["before"], limit: limit))
      }
      await add("POST /api/rooms/:room/messages", to: server) { request in
        struct New: Codable { let author: String, text: String }
        let new = try await request.decoded(New.self)
        return .json(try await store.post(new.text, by: new.author, in: request.room))
      }
      await add("POST /api/rooms/:room/files", to: server) { request in
        guard let author = request.query["author"], let name = request.query["name"] else {
          throw ChatError.badRequest("A file needs an author and a name.")
        }
        let type = request.headers[.contentType] ?? "application/octet-stream"
        return .json(
          try await store.post(
            file: try await request.bodyData, named: name, type: type, by: author, in: request.room))
      }
      await add("GET /api/rooms/:room/files/:number", to: server) { request in
        let key = MessageKey.prefix(request.room) + (request.routeParameters["number"] ?? "")
        guard let attachment = try await store.message(key)?.attachment else {
          return HTTPResponse(statusCode: .notFound)
        }
        // What somebody has sent is never run in the page's own name.
        let headers: HTTPHeaders = [
          .contentType: "application/octet-stream", .contentDisposition: "attachment",
          HTTPHeader("X-Content-Type-Options"): "nosniff",
        ]
        let body = try HTTPBodySequence(file: URL(fileURLWithPath: attachment.path))
        return HTTPResponse(statusCode: .ok, headers: headers, body: body)
      }
      await add("DELETE /api/rooms/:room/messages/:number", to: server) { request in
        try await store.removeMessage(MessageKey.prefix(request.room) + (request.routeParameters["number"] ?? ""))
        return .json(true)
      }
      await add("GET /api/search", to: server) { request in
        .json(try await store.search(typing: request.query["text"] ?? ""))
      }
    }

    private func addLongWork(to server: HTTPServer) async {
      await add("POST /api/import", to: server) { request in
        let lines = try await request.bodyData
        try await work.start("import", hub) { progress in try await store.importMessages(lines, progress: progress) }
        return .json(true)
      }
      await add("POST /api/backup", to: server) { _ in
        try await work.start("backup", hub) { progress in _ = try await store.backUp(progress: progress) }
        return .json(true)
      }
      await add("GET /api/work", to: server) { _ in .json(await work.underWay) }
    }

    /// A route whose errors become answers that say what was wrong.
    private func add(
      _ route: HTTPRoute, to server: HTTPServer,
      _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) async {
      await server.appendRoute(route) { request in
        do { return try await answer(request) } catch let error as ChatError {
          let status: HTTPStatusCode = if case .noRoom = error { .notFound } else { .badRequest }
          return .json(["error": error.description], status)
        } catch let error as DatabaseError {
          return .json(["error": error.description], .internalServerError)
        }
      }
    }
  }
#endif
