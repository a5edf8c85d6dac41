color = "blue"
